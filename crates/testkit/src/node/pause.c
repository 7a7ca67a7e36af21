/* Process 1 of each pod: waits for the end, and reaps. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void end(int number) {
  (void)number;
  _exit(0);
}

static void reap(int number) {
  (void)number;
  while (waitpid(-1, NULL, WNOHANG) > 0) {
  }
}

int main(void) {
  signal(SIGTERM, end);
  signal(SIGINT, end);
  signal(SIGCHLD, reap);
  for (;;) {
    pause();
  }
}
