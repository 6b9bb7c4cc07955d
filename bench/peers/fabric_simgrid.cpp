// SPDX-License-Identifier: MIT
//
// SimGrid beside sim/fabric: the same links as a platform of hosts, the same messages, and when each arrives.
//
//   fabric s4u FILE     a message is Comm::sendto of an actor of its own; prints when each arrives
//   fabric smpi FILE    a rank is a process of SMPI, a message an Isend and an Irecv, a step a Waitall; prints when the
//                       last process is done
//
// bench/support/links_peer.c writes FILE.  Times are picoseconds since all ranks began.  A message of a step begins
// when both its ranks have done all of the steps before, and not before its own time.
//
// The network model is CM02, max-min fair, without the factors and the window of TCP that it has by default.  It gives
// flows shares by the inverse of their latency; so that all are alike, each route has the latency of one hop, and a
// message waits for the others before.  Nothing here is shared with sim/fabric, and routes are found in another way.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <simgrid/s4u.hpp>
#include <smpi/mpi.h>
#include <smpi/smpi.h>

namespace sg = simgrid::s4u;

namespace {

struct Tier {
  double latency_ps, bytes_per_s;
  std::string topology;
};

struct Message {
  unsigned step, source, target;
  double begin_ps, bytes, arrival_ps;
};

unsigned ranks, dies, chips;
double start_ps;
Tier tiers[3]; // package, node, nodes
std::vector<Message> messages;
std::vector<sg::Host *> hosts;
std::vector<unsigned> steps; // where each rank is
double last_end = 0, first_begin = 1e300;

double seconds(double ps) { return ps * 1e-12; }

[[noreturn]] void fail(const char *what) {
  std::fprintf(stderr, "fabric: %s\n", what);
  std::exit(1);
}

void read(const char *path) {
  FILE *file = std::fopen(path, "r");
  size_t count;
  char word[16];
  if (!file || std::fscanf(file, "%u %u %u %lf %zu", &ranks, &dies, &chips, &start_ps, &count) != 5) fail(path);
  for (Tier &tier : tiers) {
    if (std::fscanf(file, "%lf %lf %15s", &tier.latency_ps, &tier.bytes_per_s, word) != 3) fail(path);
    tier.topology = word;
  }
  messages.resize(count);
  for (Message &m : messages)
    if (std::fscanf(file, "%u %u %u %lf %lf", &m.step, &m.source, &m.target, &m.begin_ps, &m.bytes) != 5) fail(path);
  std::fclose(file);
}

// ---- the platform ----

unsigned tier_of(unsigned a, unsigned b) { return a / dies == b / dies ? 0 : a / chips == b / chips ? 1 : 2; }

unsigned group_size(unsigned tier) { return tier == 0 ? dies : tier == 1 ? chips : ranks; }

// The ranks that a message passes, its ends too.
std::vector<unsigned> path(unsigned a, unsigned b) {
  const unsigned tier = tier_of(a, b), size = group_size(tier), group = a / size * size;
  std::vector<unsigned> passed = {a};
  if (tiers[tier].topology != "ring") {
    passed.push_back(b);
    return passed;
  }
  const unsigned ahead = (b + size - a) % size, step = 2 * ahead <= size ? 1 : size - 1;
  while (passed.back() != b) passed.push_back(group + (passed.back() - group + step) % size);
  return passed;
}

double hops_before(const Message &m) { return static_cast<double>(path(m.source, m.target).size()) - 2; }

void build() {
  sg::NetZone *zone = sg::create_full_zone("fabric");
  std::map<std::string, sg::Link *> links;
  for (unsigned rank = 0; rank < ranks; rank++) hosts.push_back(zone->create_host(std::to_string(rank), 1e9)->seal());
  sg::Link *wires[3] = {};
  const auto link = [&](unsigned tier, const std::string &name) {
    sg::Link *&made = links[std::to_string(tier) + name];
    if (!made) made = zone->create_link(std::to_string(tier) + name, tiers[tier].bytes_per_s)->set_latency(0.0)->seal();
    return made;
  };
  for (unsigned a = 0; a < ranks; a++) {
    for (unsigned b = 0; b < ranks; b++) {
      if (a == b) continue;
      const unsigned tier = tier_of(a, b);
      if (!wires[tier])
        wires[tier] = zone->create_link("wire" + std::to_string(tier), 1e18)
                          ->set_sharing_policy(sg::Link::SharingPolicy::FATPIPE)
                          ->set_latency(seconds(tiers[tier].latency_ps))
                          ->seal();
      std::vector<sg::LinkInRoute> route = {sg::LinkInRoute(wires[tier])};
      const std::vector<unsigned> passed = path(a, b);
      if (tiers[tier].topology == "switch") {
        route.emplace_back(link(tier, "up" + std::to_string(a)));
        route.emplace_back(link(tier, "down" + std::to_string(b)));
      } else {
        for (size_t i = 1; i < passed.size(); i++)
          route.emplace_back(link(tier, std::to_string(passed[i - 1]) + "to" + std::to_string(passed[i])));
      }
      zone->add_route(hosts[a]->get_netpoint(), hosts[b]->get_netpoint(), nullptr, nullptr, route, false);
    }
  }
  zone->seal();
}

// ---- S4U ----

// Messages of the step that are not done, by rank and step.
std::map<std::pair<unsigned, unsigned>, unsigned> waits;

bool is_at(unsigned rank, unsigned step) {
  for (unsigned s = 0; s < step; s++) {
    const auto wait = waits.find({rank, s});
    if (wait != waits.end() && wait->second > 0) return false;
  }
  return true;
}

void start_ready();

void carry(Message *m) {
  sg::this_actor::sleep_until(seconds(m->begin_ps));
  sg::this_actor::sleep_for(seconds(start_ps + hops_before(*m) * tiers[tier_of(m->source, m->target)].latency_ps));
  sg::Comm::sendto(hosts[m->source], hosts[m->target], static_cast<uint64_t>(m->bytes));
  m->arrival_ps = sg::Engine::get_clock() * 1e12;
  waits[{m->source, m->step}]--;
  waits[{m->target, m->step}]--;
  start_ready();
}

void start_ready() {
  for (Message &m : messages) {
    if (m.arrival_ps != 0 || !is_at(m.source, m.step) || !is_at(m.target, m.step)) continue;
    m.arrival_ps = -1; // under way
    sg::Actor::create("message", hosts[m.source], carry, &m);
  }
}

// ---- SMPI ----

void process() {
  int rank;
  MPI_Init(nullptr, nullptr);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  unsigned last_step = 0;
  double most = 1;
  for (const Message &m : messages) {
    last_step = std::max(last_step, m.step);
    most = std::max(most, m.bytes);
  }
  void *bytes = SMPI_SHARED_MALLOC(static_cast<size_t>(most)); // whose bytes SMPI does not copy
  first_begin = std::min(first_begin, sg::Engine::get_clock());
  for (unsigned step = 0; step <= last_step; step++) {
    std::vector<MPI_Request> requests;
    for (size_t i = 0; i < messages.size(); i++) {
      const Message &m = messages[i];
      if (m.step != step) continue;
      if (m.target == static_cast<unsigned>(rank)) {
        requests.emplace_back();
        MPI_Irecv(bytes, static_cast<int>(m.bytes), MPI_BYTE, static_cast<int>(m.source), static_cast<int>(i),
                  MPI_COMM_WORLD, &requests.back());
      }
      if (m.source == static_cast<unsigned>(rank)) {
        requests.emplace_back();
        MPI_Isend(bytes, static_cast<int>(m.bytes), MPI_BYTE, static_cast<int>(m.target), static_cast<int>(i),
                  MPI_COMM_WORLD, &requests.back());
      }
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  }
  last_end = std::max(last_end, sg::Engine::get_clock());
  SMPI_SHARED_FREE(bytes);
  MPI_Finalize();
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3) fail("usage: fabric s4u|smpi FILE");
  const bool is_smpi = std::strcmp(argv[1], "smpi") == 0;
  static const char *const settings[] = {"fabric",
                                         "--log=root.threshold:warning",
                                         "--cfg=network/model:CM02",
                                         "--cfg=network/optim:Full",
                                         "--cfg=network/crosstraffic:no",
                                         "--cfg=network/TCP-gamma:0",
                                         "--cfg=network/latency-factor:1",
                                         "--cfg=network/bandwidth-factor:1",
                                         "--cfg=network/weight-S:0",
                                         "--cfg=surf/precision:1e-13"};
  std::vector<char *> args;
  for (const char *setting : settings) args.push_back(const_cast<char *>(setting));
  int count = static_cast<int>(args.size());
  args.push_back(nullptr);
  sg::Engine engine(&count, args.data());
  read(argv[2]);
  build();
  if (is_smpi) {
    sg::Engine::set_config("smpi/simulate-computation:no");
    sg::Engine::set_config("smpi/send-is-detached-thresh:0"); // a sender is done when its message has arrived
    SMPI_init();
    SMPI_app_instance_register("ranks", nullptr, static_cast<int>(ranks));
    for (unsigned rank = 0; rank < ranks; rank++) {
      sg::ActorPtr actor = sg::Actor::init("rank", hosts[rank]);
      actor->set_property("instance_id", "ranks");
      actor->set_property("rank", std::to_string(rank));
      actor->start(process);
    }
    engine.run();
    SMPI_finalize();
    std::printf("%.3f\n", (last_end - first_begin) * 1e12);
    return 0;
  }
  for (const Message &m : messages) {
    waits[{m.source, m.step}]++;
    waits[{m.target, m.step}]++;
  }
  sg::Actor::create("begin", hosts[0], start_ready);
  engine.run();
  for (const Message &m : messages) std::printf("%.3f\n", m.arrival_ps);
  return 0;
}
