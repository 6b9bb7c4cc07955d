/* SPDX-License-Identifier: MIT */
#include <bench/support/links_peer.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "": where it is not there. */
static const char *find_program(void) {
  static char program[PATH_MAX + 32];
  const char *chosen = getenv("PTO_BENCH_PEERS");
  char self[PATH_MAX] = "";
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return "";
  *strrchr(self, '/') = '\0';
  snprintf(program, sizeof program, "%s%s/fabric", chosen ? chosen : self, chosen ? "" : "/peers");
  return access(program, X_OK) == 0 ? program : "";
}

bool pto_links_peer_is_there(const char *bench) {
  if (find_program()[0]) return true;
  fprintf(stderr, "%s: without SimGrid: it or a C++ compiler is missing (scripts/deps --bench)\n", bench);
  return false;
}

/* The tiers and the messages, as the program reads them. */
static bool write_schedule(const char *path, const struct pto_chip_fabric *f, uint32_t ranks,
                           const struct pto_bench_message *messages, uint32_t count) {
  static const char *const words[] = {"switch", "mesh", "ring"};
  FILE *file = fopen(path, "w");
  if (!file) return false;
  fprintf(file, "%u %u %u %llu %u\n", ranks, f->dies_per_package, f->chips_per_node, (unsigned long long)f->start_ps,
          count);
  for (uint32_t tier = 0; tier < PTO_CHIP_TIER_COUNT; tier++)
    fprintf(file, "%llu %.17g %s\n", (unsigned long long)f->tiers[tier].latency_ps,
            (double)(f->tiers[tier].bandwidth_mbps * f->link_percent) * 1e4, words[f->tiers[tier].topology]);
  for (uint32_t i = 0; i < count; i++)
    fprintf(file, "%u %u %u %llu %llu\n", messages[i].step, messages[i].source, messages[i].target,
            (unsigned long long)messages[i].begin_ps, (unsigned long long)messages[i].bytes);
  return fclose(file) == 0;
}

static bool read_times(const char *how, const char *path, uint32_t count, double *times_ps) {
  char command[2 * PATH_MAX];
  snprintf(command, sizeof command, "'%s' %s '%s'", find_program(), how, path);
  FILE *from = popen(command, "r");
  uint32_t read = 0;
  while (from && read < count && fscanf(from, "%lf", &times_ps[read]) == 1) read++;
  if (from && pclose(from) == 0 && read == count) return true;
  fprintf(stderr, "bench: %s failed\n", command);
  return false;
}

bool pto_links_peer_run(const char *how, const struct pto_chip *chip, uint32_t ranks,
                        const struct pto_bench_message *messages, uint32_t count, double *times_ps) {
  char path[] = "/tmp/pto-fabric-XXXXXX";
  const int fd = mkstemp(path);
  bool is_good = fd >= 0 && close(fd) == 0 && write_schedule(path, &chip->fabric, ranks, messages, count);
  if (!is_good) fprintf(stderr, "bench: %s cannot be written\n", path);
  is_good = is_good && read_times(how, path, strcmp(how, "smpi") == 0 ? 1 : count, times_ps);
  if (fd >= 0) unlink(path);
  return is_good;
}
