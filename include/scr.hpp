// SPDX-License-Identifier: BSD-3-Clause
// SCR for C++17: the calls of scr.h with exceptions, strings and paths (scr_calls.hpp),
// and an object for each phase. Headers only, over libscr.
//
//     scr::session session;                                // after MPI_Init
//     while (auto name = scr::have_restart()) {            // the newest first
//         try {
//             scr::restart from;
//             load(from.route(*name + "/rank_3"));
//             from.complete();
//             break;
//         } catch (const std::exception &) {     // on any process: the next one
//         }
//     }
//     for (…) {
//         compute();
//         if (scr::need_checkpoint()) {
//             scr::output to("step.10");
//             save(to.route("step.10/rank_3"));            // closes its file
//             to.complete();
//         }
//     }
//     session.finalize();                                  // before MPI_Finalize
//
// A call of scr.h that returns an error throws scr::error here. Of a collective call
// all processes throw the same error, so all leave the same way; route and the other
// local calls throw on one process. scr.h says which calls are collective, when each is
// allowed, and what happens where SCR does not run.
//
// Destructors do not throw. They make a collective call in one case only, which is the
// one that the other processes make, too:
//  - output and restart, when they end without complete(), pass 0 for this process: it
//    threw, or left. The others get an error of code SCR_E_INVALID (20) from their
//    complete(), the checkpoint is dropped (in a restart: an older one is loaded), and
//    no process waits. This holds if the others reach the end of their phase: do not
//    wait for other processes (MPI_Barrier, MPI_Recv, collective I/O) inside a phase
//    where a process that has thrown would not take part.
//  - session, when it ends without finalize(), makes no call at all: after an exception
//    of one process the others are elsewhere. The run then counts as not finished, and
//    the next one continues from the cache. End such a process by MPI_Abort.
//
// Not copied, not moved: an object belongs to the scope that made it. Needs
// std::filesystem (GCC 9, clang 9, or newer). Functions with an MPI_Comm are declared
// where mpi.h is included before this header.
#ifndef SCR_HPP
#define SCR_HPP

#include <filesystem>
#include <string>
#include <vector>

#include "scr_calls.hpp"

namespace scr
{

// --- from start to end ---

// SCR_Init. If it throws, a program may still go on without checkpoints: calls succeed
// then, as where SCR_ENABLE=0, and SCR_Finalize may be left out.
class session
{
  public:
    session()
    {
        detail::check(SCR_Init());
    }
#ifdef MPI_VERSION
    explicit session(MPI_Comm comm)
    {
        detail::check(SCR_Init_comm(comm));
    }
#endif
    session(const session &) = delete;
    session &operator=(const session &) = delete;
    ~session() = default;

    // SCR_Finalize: the job is done. Also where it throws the session is over.
    void finalize()
    {
        detail::check(SCR_Finalize());
    }
};

// --- checkpoints and output ---

// An output phase. name "": SCR makes one.
class output
{
  public:
    explicit output(const std::string &name, int flags = SCR_FLAG_CHECKPOINT)
    {
        detail::check(SCR_Start_output(detail::c_text(name), flags));
        is_open_ = true;
    }
    output(const output &) = delete;
    output &operator=(const output &) = delete;
    ~output()
    {
        if (is_open_)
            SCR_Complete_output(0);
    }

    std::filesystem::path route(const std::filesystem::path &name) const
    {
        return scr::route(name);
    }

    // This process has written and closed its files. Throws unless all processes say so
    // and the dataset is protected; the dataset before it is still there then. Ends the
    // process if the job must halt (SCR_Complete_output(3)).
    void complete()
    {
        is_open_ = false;
        detail::check(SCR_Complete_output(1));
    }

  private:
    bool is_open_ = false;
};

// --- restart ---

// The restart phase of the checkpoint that have_restart offered.
class restart
{
  public:
    restart()
    {
        char name[SCR_MAX_FILENAME];
        name_.reserve(SCR_MAX_FILENAME); // nothing throws once the phase is open
        detail::check(SCR_Start_restart(name));
        is_open_ = true;
        name_ = name;
    }
    restart(const restart &) = delete;
    restart &operator=(const restart &) = delete;
    ~restart()
    {
        if (is_open_)
            SCR_Complete_restart(0);
    }

    const std::string &name() const noexcept
    {
        return name_;
    }
    std::filesystem::path route(const std::filesystem::path &wanted) const
    {
        return scr::route(wanted);
    }

    // This process has read what it needs. Throws unless all processes have: then
    // have_restart offers the next older checkpoint.
    void complete()
    {
        is_open_ = false;
        detail::check(SCR_Complete_restart(1));
    }

    // Local: how many processes wrote it.
    int ranks() const
    {
        int n = 0;
        detail::check(SCR_Restart_ranks(&n));
        return n;
    }

    struct file {
        std::filesystem::path path; // for route
        int rank;                   // that wrote it
    };
    // Collective: the files of all processes that wrote it.
    std::vector<file> files() const
    {
        int n = 0, rank = 0;
        char path[SCR_MAX_FILENAME];
        std::vector<file> all;
        detail::check(SCR_Restart_files(&n));
        for (int i = 0; i < n; i++) {
            detail::check(SCR_Restart_file(i, path, &rank));
            all.push_back({ path, rank });
        }
        return all;
    }

  private:
    bool is_open_ = false;
    std::string name_;
};

} // namespace scr

#endif
