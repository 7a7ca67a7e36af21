// Fills the page from /v1/accounts and /openapi.json. Every value is inserted as text, never as markup.
'use strict';

const REFRESH_MS = 5000;
const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

const byId = (id) => document.getElementById(id);

// An element with attributes and children; strings become text.
function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

async function json(path) {
  const response = await fetch(path, { headers: { accept: 'application/json' } });
  if (!response.ok) throw new Error(`GET ${path}: ${response.status} ${response.statusText}`);
  return response.json();
}

// === accounts ===

function stateOf(account) {
  if (account.frozen) return ['frozen', 'frozen'];
  if (!account.cachedBy) return ['stale', 'stale: no agent caches it'];
  if (account.listing > 0) return ['stale', `listing ${account.listing} of ${account.watches} kinds`];
  return ['current', 'current'];
}

function accountRow(account) {
  const [name, text] = stateOf(account);
  return element('tr', {},
    element('td', {}, element('a', { href: `/v1/objects?account=${encodeURIComponent(account.name)}&limit=50` }, account.name)),
    element('td', { class: name }, text),
    element('td', {}, String(account.objects)),
    element('td', {}, account.kubernetesVersion),
    element('td', {}, account.cachedBy ?? ''),
    element('td', { class: 'problem' }, account.problem ?? ''));
}

async function showAccounts() {
  try {
    const accounts = await json('/v1/accounts');
    const current = accounts.filter((account) => stateOf(account)[0] === 'current').length;
    byId('accounts-summary').textContent = `${accounts.length} in all, ${current} current`;
    byId('accounts-rows').replaceChildren(...accounts.map(accountRow));
    byId('accounts-error').textContent = accounts.length > 0 ? '' : 'No agent has announced an account yet.';
  } catch (error) {
    byId('accounts-error').textContent = `The accounts cannot be read: ${error.message}`;
  }
}

// === API ===

// Follows a reference such as #/components/schemas/Account.
function resolve(api, schema) {
  const name = schema?.$ref?.replace('#/components/schemas/', '');
  return name ? { name, ...api.components.schemas[name] } : schema ?? {};
}

function typeOf(api, schema) {
  if (!schema) return '';
  if (schema.$ref) return resolve(api, schema).name;
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (schema.oneOf) return schema.oneOf.map((one) => typeOf(api, one)).filter((type) => type !== 'null').join(' | ');
  if (schema.allOf) return schema.allOf.map((one) => typeOf(api, one)).join(' & ');
  const type = [].concat(schema.type ?? 'any').filter((one) => one !== 'null').join(' | ');
  return type === 'array' ? `${typeOf(api, schema.items)}[]` : type;
}

// Rows of a table: the properties of an object and of the parts that it is made of.
function properties(api, schema) {
  const whole = resolve(api, schema);
  const own = Object.entries(whole.properties ?? {}).map(([name, property]) => ({
    name, property, required: (whole.required ?? []).includes(name),
  }));
  return [...(whole.allOf ?? []).flatMap((part) => properties(api, part)), ...own];
}

function fieldTable(api, rows) {
  if (rows.length === 0) return null;
  const cells = rows.map(({ name, property, required, place }) => {
    const values = resolve(api, property);
    const type = values.enum ? typeOf(api, values) : typeOf(api, property);
    return element('tr', {},
      element('td', {}, element('code', {}, name), required ? ' (required)' : ''),
      element('td', {}, place ?? '', element('code', {}, type)),
      element('td', {}, property.description ?? values.description ?? ''));
  });
  return element('table', {}, element('tbody', {}, ...cells));
}

function parameterTable(api, operation) {
  const rows = (operation.parameters ?? []).map((parameter) => ({
    name: parameter.name,
    required: parameter.required,
    place: `${parameter.in}: `,
    property: { ...parameter.schema, description: parameter.description },
  }));
  return rows.length > 0 ? element('div', {}, element('h3', {}, 'Parameters'), fieldTable(api, rows)) : null;
}

// The discriminator of one alternative, such as `scale` of the verbs.
function alternativeName(api, schema) {
  const constant = properties(api, schema).find(({ property }) => property.enum?.length === 1);
  return constant ? constant.property.enum[0] : typeOf(api, schema);
}

function bodyView(api, operation) {
  const content = operation.requestBody?.content?.['application/json'];
  if (!content) return null;
  const schema = resolve(api, content.schema);
  const examples = Object.entries(content.examples ?? {});
  const example = (name) => examples.filter(([key]) => key === name)
    .map(([, { value }]) => element('pre', {}, JSON.stringify(value, null, 2)));
  const view = element('div', {}, element('h3', {}, 'Body'), element('p', {}, operation.requestBody.description ?? ''));
  if (schema.oneOf) {
    for (const one of schema.oneOf) {
      const name = alternativeName(api, one);
      view.append(element('details', { class: 'verb' },
        element('summary', {}, element('code', {}, name), ' ', resolve(api, one).description ?? ''),
        ...example(name), fieldTable(api, properties(api, one))));
    }
    return view;
  }
  view.append(...[fieldTable(api, properties(api, schema))].filter(Boolean));
  for (const [, { value }] of examples) view.append(element('pre', {}, JSON.stringify(value, null, 2)));
  return view;
}

function responseTable(api, operation) {
  const rows = Object.entries(operation.responses ?? {}).map(([status, response]) => ({
    name: status,
    property: { ...Object.values(response.content ?? {})[0]?.schema, description: response.description },
  }));
  return element('div', {}, element('h3', {}, 'Responses'), fieldTable(api, rows));
}

function route(api, method, path, operation) {
  const text = (operation.summary ?? operation.description ?? '').trim();
  const made = element('details', { class: 'route' },
    element('summary', {},
      element('span', { class: `method ${method.toUpperCase()}` }, method.toUpperCase()),
      element('code', {}, path), element('span', { class: 'about' }, text)));
  made.id = `${method}:${path}`;
  made.dataset.text = `${method} ${path} ${text}`.toLowerCase();
  // Details are built when they are opened: there are about a hundred routes.
  made.addEventListener('toggle', () => {
    if (made.childElementCount > 1) return;
    made.append(element('div', {},
      operation.description && operation.description !== text ? element('p', {}, operation.description) : null,
      parameterTable(api, operation), bodyView(api, operation), responseTable(api, operation)));
  });
  return made;
}

async function showApi() {
  try {
    const api = await json('/openapi.json');
    const groups = new Map((api.tags ?? []).map(({ name, description }) => [name, { description, routes: [] }]));
    for (const [path, item] of Object.entries(api.paths)) {
      for (const method of METHODS.filter((method) => item[method])) {
        const tag = item[method].tags?.[0] ?? 'other';
        if (!groups.has(tag)) groups.set(tag, { description: '', routes: [] });
        groups.get(tag).routes.push(route(api, method, path, item[method]));
      }
    }
    const sections = [...groups].filter(([, { routes }]) => routes.length > 0).map(([tag, { description, routes }]) =>
      element('section', {}, element('h3', {}, tag), element('p', {}, description ?? ''), ...routes));
    byId('api-groups').replaceChildren(...sections);
    const count = [...groups.values()].reduce((sum, { routes }) => sum + routes.length, 0);
    openLinked();
    byId('api-summary').textContent = `${count} routes, version ${api.info.version}`;
  } catch (error) {
    byId('api-error').textContent = `The description of the API cannot be read: ${error.message}`;
  }
}

// Opens the route that the address names, such as #get:/v1/accounts.
function openLinked() {
  const linked = byId(decodeURIComponent(location.hash.slice(1)));
  if (linked?.tagName !== 'DETAILS') return;
  linked.open = true;
  linked.scrollIntoView();
}

function filterRoutes() {
  const words = byId('filter').value.toLowerCase().split(/\s+/);
  for (const section of byId('api-groups').children) {
    let shown = 0;
    for (const item of section.querySelectorAll('details.route')) {
      item.hidden = !words.every((word) => item.dataset.text.includes(word));
      if (!item.hidden) shown += 1;
    }
    section.hidden = shown === 0;
  }
}

byId('filter').addEventListener('input', filterRoutes);
addEventListener('hashchange', openLinked);
showAccounts();
showApi();
setInterval(() => { if (!document.hidden) showAccounts(); }, REFRESH_MS);
