/* SPDX-License-Identifier: MIT */
/*
 * Worlds, communicators and collectives in C++.  What holds of all of it, and when to use it, is in <pto/pto.hpp>.
 *
 *   pto::world world(how);                                        how.ranks = 4
 *   world.run([](pto::rank rank) {
 *     pto::config config;                                         config.engine = "virtual"
 *     config.rank = rank.get();
 *     pto::runtime(config).run([](pto::run run) {
 *       const pto::comm comm = pto::comm::for_collectives(run, 4096);
 *       comm.all_reduce(x, sum);
 *     });
 *   });
 *
 * A world owns, and goes after the runtimes of its ranks, as it does where these are locals of their main.  Ranks and
 * communicators are values: what they mean is the world's.
 */
#ifndef PTO_WORLD_HPP
#define PTO_WORLD_HPP

#include <pto/collectives.h>
#include <pto/run.hpp>
#include <pto/world.h>

#include <cstdlib>
#include <vector>

namespace pto {

/* Ranks have threads of their own unless it is said otherwise: what is being caught is counted by thread, so two ranks
 * of one thread could end each other's exceptions. */
struct world_config : pto_world_config {
  world_config() noexcept : pto_world_config{} {
    size = sizeof(pto_world_config);
    rank_threads = true;
  }
};

/* One chip of a world. */
class rank {
public:
  explicit rank(pto_rank *r) noexcept : rank_(r) {}
  pto_rank *get() const noexcept { return rank_; } /* for config.rank */
  std::uint32_t index() const noexcept { return pto_rank_index(rank_); }
  std::uint32_t count() const noexcept { return pto_rank_count(rank_); }
  std::uint64_t clock_ps() const noexcept { return pto_rank_clock_ps(rank_); }

private:
  pto_rank *rank_;
};

class world {
public:
  explicit world(const pto_world_config &how = world_config()) {
    char sentence[512] = "";
    pto_world *made = nullptr;
    const int status = pto_world_create(&how, &made, sentence, sizeof sentence);
    if (status != PTO_OK) throw_status(status, sentence);
    world_.reset(made);
  }
  pto_world *get() const noexcept { return world_.get(); }
  pto::rank rank(std::uint32_t index) const noexcept { return pto::rank(pto_world_rank(get(), index)); }

  /* Runs `void main(pto::rank)` for each rank, once a world.  Of the rank that pto_world_run tells of it throws what
   * its main has thrown; a pto::error with that rank before its sentence. */
  template <class F> void run(F &&main) {
    struct call {
      F &main;
      std::vector<std::exception_ptr> thrown; /* by rank, each written by its own; no pto::error */
    } now{main, std::vector<std::exception_ptr>(rank(0).count())};
    const int status = pto_world_run(
        get(),
        [](pto_rank *r, void *context) noexcept {
          call &c = *static_cast<call *>(context);
          return guard(pto::rank(r), c.main, c.thrown[pto_rank_index(r)]);
        },
        &now);
    if (status == PTO_OK) return;
    const char *told = pto_world_last_error(get()); /* "rank 3: …" */
    const std::size_t of = std::strncmp(told, "rank ", 5) == 0 ? std::strtoul(told + 5, nullptr, 10) : SIZE_MAX;
    if (of < now.thrown.size() && now.thrown[of]) std::rethrow_exception(now.thrown[of]);
    throw_status(status, told);
  }

private:
  template <class F> static int guard(pto::rank r, F &main, std::exception_ptr &thrown) noexcept {
    const auto told = [&](const char *sentence) {
      thrown = std::current_exception();
      pto_rank_set_error(r.get(), sentence);
      return static_cast<int>(PTO_EUSER);
    };
    try {
      main(r);
      return PTO_OK;
    } catch (const error &e) {
      pto_rank_set_error(r.get(), e.what());
      return e.status();
    } catch (const std::exception &e) {
      return told(e.what());
    } catch (...) {
      return told("the rank's main has thrown what is no std::exception");
    }
  }
  owned<pto_world, pto_world_destroy> world_;
};

/* A communicator, in a run of one of its ranks.  It outlasts the run: in a later one it is comm(run, made.get()). */
class comm {
public:
  /* Of all ranks, or of these; each of them makes it (pto_comm_create). */
  comm(const run &r, std::uint64_t window_bytes, std::uint32_t signal_count, span<const std::uint32_t> ranks = {})
      : run_(r) {
    r.check(pto_comm_create(r.get(), ranks.data(), static_cast<std::uint32_t>(ranks.size()), window_bytes, signal_count,
                            &comm_));
  }
  comm(const run &r, pto_comm made) noexcept : run_(r), comm_(made) {}
  /* For tensors of at most so many bytes; it is for all_reduce … barrier alone, the others for all else. */
  static comm for_collectives(const run &r, std::uint64_t max_bytes, span<const std::uint32_t> ranks = {}) {
    pto_comm made{};
    r.check(pto_comm_create_for_collectives(r.get(), ranks.data(), static_cast<std::uint32_t>(ranks.size()), max_bytes,
                                            &made));
    return comm(r, made);
  }
  pto_comm get() const noexcept { return comm_; }
  std::uint64_t id() const noexcept { return comm_.id; } /* a scalar of kernels */
  std::uint32_t place() const noexcept { return pto_comm_place(run_.get(), comm_); }
  std::uint32_t size() const noexcept { return pto_comm_size(run_.get(), comm_); }

  /* The own window, or a peer's, as a tensor from its start. */
  tensor window(std::uint32_t dtype, sizes shape) const noexcept {
    return tensor(pto_comm_window, run_.get(), comm_, dtype, static_cast<std::uint32_t>(shape.size()), shape.data());
  }
  template <class T> tensor window(sizes shape) const noexcept { return window(dtype_of<T>(), shape); }
  tensor peer(std::uint32_t place, std::uint32_t dtype, sizes shape) const noexcept {
    return tensor(pto_comm_peer, run_.get(), comm_, place, dtype, static_cast<std::uint32_t>(shape.size()),
                  shape.data());
  }
  template <class T> tensor peer(std::uint32_t place, sizes shape) const noexcept {
    return peer(place, dtype_of<T>(), shape);
  }
  /* This rank's task of a group (pto_submit_group). */
  template <class... P> PTO_CPP_INLINE task submit(const pto_launch &how, const P &...p) const {
    const auto params = params_of(p...);
    task made;
    run_.check(pto_submit_group(run_.get(), comm_, &how, params.items, params.count, &made));
    return made;
  }

  /* ---- collectives (pto/collectives.h) ---- */

  PTO_CPP_INLINE void all_reduce(const tensor &in, const tensor &out, pto_reduction reduction = PTO_REDUCE_SUM,
                                 enum pto_all_reduce algorithm = PTO_ALL_REDUCE_ONE_PHASE) const {
    run_.check(pto_submit_all_reduce(run_.get(), comm_, &in, &out, reduction, algorithm));
  }
  PTO_CPP_INLINE void reduce_scatter(const tensor &in, const tensor &out,
                                     pto_reduction reduction = PTO_REDUCE_SUM) const {
    run_.check(pto_submit_reduce_scatter(run_.get(), comm_, &in, &out, reduction));
  }
  PTO_CPP_INLINE void all_gather(const tensor &in, const tensor &out) const {
    run_.check(pto_submit_all_gather(run_.get(), comm_, &in, &out));
  }
  PTO_CPP_INLINE void broadcast(const tensor &in, const tensor &out, std::uint32_t root) const {
    run_.check(pto_submit_broadcast(run_.get(), comm_, &in, &out, root));
  }
  PTO_CPP_INLINE void all_to_all(const tensor &in, const tensor &out) const {
    run_.check(pto_submit_all_to_all(run_.get(), comm_, &in, &out));
  }
  PTO_CPP_INLINE task barrier() const {
    task made;
    run_.check(pto_submit_comm_barrier(run_.get(), comm_, &made));
    return made;
  }

private:
  run run_;
  pto_comm comm_{};
};

} // namespace pto

#endif
