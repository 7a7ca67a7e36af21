package main

import (
	"fmt"
	"reflect"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
)

// The group versions whose objects the playground takes as protobuf, which is
// what typed clients of client-go write.
var written = map[schema.GroupVersion]bool{
	{Group: "admissionregistration.k8s.io", Version: "v1"}: true,
	{Group: "node.k8s.io", Version: "v1"}:                  true,
	{Version: "v1"}:                                        true,
	{Group: "apps", Version: "v1"}:                         true,
	{Group: "authentication.k8s.io", Version: "v1"}:        true,
	{Group: "authorization.k8s.io", Version: "v1"}:         true,
	{Group: "autoscaling", Version: "v1"}:                  true,
	{Group: "autoscaling", Version: "v2"}:                  true,
	{Group: "batch", Version: "v1"}:                        true,
	{Group: "certificates.k8s.io", Version: "v1"}:          true,
	{Group: "coordination.k8s.io", Version: "v1"}:          true,
	{Group: "discovery.k8s.io", Version: "v1"}:             true,
	{Group: "events.k8s.io", Version: "v1"}:                true,
	{Group: "networking.k8s.io", Version: "v1"}:            true,
	{Group: "policy", Version: "v1"}:                       true,
	{Group: "rbac.authorization.k8s.io", Version: "v1"}:    true,
	{Group: "scheduling.k8s.io", Version: "v1"}:            true,
	{Group: "storage.k8s.io", Version: "v1"}:               true,
}

// Types whose JSON is not that of their fields.
var special = map[reflect.Type]string{
	reflect.TypeOf(metav1.Time{}):          "time",
	reflect.TypeOf(metav1.MicroTime{}):     "microtime",
	reflect.TypeOf(metav1.Duration{}):      "skip",
	reflect.TypeOf(resource.Quantity{}):    "quantity",
	reflect.TypeOf(intstr.IntOrString{}):   "either",
	reflect.TypeOf(runtime.RawExtension{}): "json",
	reflect.TypeOf(metav1.FieldsV1{}):      "json",
}

// printFields writes the numbers, names and types of all protobuf fields that
// the playground's decoder needs, as Go's struct tags tell them: first a line
// per kind, then a line per message.
func printFields() int {
	messages := map[string]string{}
	kinds := []string{}
	for kind, goType := range scheme.Scheme.AllKnownTypes() {
		if encodes(goType) && isWritten(kind) {
			kinds = append(kinds, fmt.Sprintf("kind %s %s %s", kind.GroupVersion(), kind.Kind, message(goType, messages)))
		}
	}
	sort.Strings(kinds)
	lines := []string{}
	for name, fields := range messages {
		lines = append(lines, name+fields)
	}
	sort.Strings(lines)
	fmt.Println(strings.Join(append(kinds, lines...), "\n"))
	return 0
}

func isWritten(kind schema.GroupVersionKind) bool {
	// Every group has options of its own, all alike.
	if kind.Kind == "DeleteOptions" {
		return kind.Group == "" && kind.Version == "v1"
	}
	read := strings.HasSuffix(kind.Kind, "List") || strings.HasSuffix(kind.Kind, "Options") || kind.Kind == "WatchEvent"
	return written[kind.GroupVersion()] && !read
}

func encodes(goType reflect.Type) bool {
	_, encodes := reflect.New(goType).Interface().(interface{ Marshal() ([]byte, error) })
	return encodes
}

// message notes a struct and all that it contains, and gives its name.
func message(goType reflect.Type, messages map[string]string) string {
	path := strings.Split(goType.PkgPath(), "/")
	name := strings.Join(path[max(0, len(path)-2):], ".") + "." + goType.Name()
	if _, known := messages[name]; known {
		return name
	}
	messages[name] = ""
	fields := ""
	for i := range goType.NumField() {
		field := goType.Field(i)
		tag := strings.Split(field.Tag.Get("protobuf"), ",")
		if len(tag) < 2 {
			continue
		}
		// Inline fields have no name.
		options := strings.Split(field.Tag.Get("json"), ",")
		name := options[0]
		if strings.Contains(field.Tag.Get("json"), "omitempty") && field.Type.Kind() != reflect.Pointer {
			name += "?"
		}
		if kind := typeName(field.Type, messages); kind != "skip" {
			fields += fmt.Sprintf(" %s:%s:%s", tag[1], name, kind)
		}
	}
	messages[name] = fields
	return name
}

func typeName(goType reflect.Type, messages map[string]string) string {
	if name, found := special[goType]; found {
		return name
	}
	switch goType.Kind() {
	case reflect.Pointer:
		return typeName(goType.Elem(), messages)
	case reflect.Slice:
		if goType.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		// Named lists such as ExtraValue are messages of their own.
		if encodes(goType) {
			return "list"
		}
		return "*" + typeName(goType.Elem(), messages)
	case reflect.Map:
		return "%" + typeName(goType.Elem(), messages)
	case reflect.Struct:
		return message(goType, messages)
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "bool"
	case reflect.Float64:
		return "float"
	default:
		return goType.Kind().String()
	}
}
