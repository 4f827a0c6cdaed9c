// SPDX-License-Identifier: BSD-3-Clause
// SCR for C++17: the calls of scr.h with exceptions, strings and paths, and an object
// for each phase. Header only, over libscr.
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

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "scr.h"

namespace scr
{

// A call that failed, or was not made because a text has a NUL in it. what() is one
// line, which SCR has printed if the call was made: what is wrong, why, and what to do
// about it.
class error : public std::runtime_error
{
  public:
    error(int code, const std::string &text) : std::runtime_error(text), code_(code)
    {
    }
    // One of scr_errors(7).
    int code() const noexcept
    {
        return code_;
    }

  private:
    int code_;
};

namespace detail
{

inline void check(int code)
{
    if (code == SCR_SUCCESS)
        return;
    char text[SCR_MAX_FILENAME] = "";
    SCR_Last_error(text);
    throw error(code, text);
}

// Takes the value that SCR_Config returned.
inline std::optional<std::string> take(const char *value)
{
    if (value == nullptr) {
        check(SCR_Last_error(nullptr));
        return std::nullopt;
    }
    const std::unique_ptr<char, void (*)(void *)> owned(const_cast<char *>(value),
                                                        std::free);
    return std::string(value);
}

// For a call in C, which would take a text that has a NUL up to that only. The
// processes give the same texts to a collective call, so all of them throw.
inline const char *c_text(const std::string &text)
{
    if (text.find('\0') != std::string::npos)
        throw error(8 /* SCR_E_ARG */, "\"" + std::string(text.c_str()) +
                                           "\" is followed by a NUL: invalid argument");
    return text.c_str();
}

} // namespace detail

// --- settings, before the session ---

// SCR_Config: "NAME=value" sets, "NAME=" unsets, "NAME" returns the value, if set.
inline std::optional<std::string> config(const std::string &text)
{
    return detail::take(SCR_Config(detail::c_text(text)));
}

#ifdef MPI_VERSION
inline std::optional<std::string> config(MPI_Comm comm, const std::string &text)
{
    return detail::take(SCR_Config_comm(comm, detail::c_text(text)));
}
#endif

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

// --- paths ---

// Local. SCR_Route_file: the path to use now for a file under the prefix directory.
inline std::filesystem::path route(const std::filesystem::path &name)
{
    char path[SCR_MAX_FILENAME];
    detail::check(SCR_Route_file(detail::c_text(name.native()), path));
    return path;
}

// --- checkpoints and output ---

inline bool need_checkpoint()
{
    int flag = 0;
    detail::check(SCR_Need_checkpoint(&flag));
    return flag != 0;
}

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

// The name of the checkpoint to restart from.
inline std::optional<std::string> have_restart()
{
    int flag = 0;
    char name[SCR_MAX_FILENAME];
    detail::check(SCR_Have_restart(&flag, name));
    return flag != 0 ? std::optional<std::string>(name) : std::nullopt;
}

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

// --- what there is ---

struct dataset {
    std::string name;
    int id;
    int flags; // SCR_FLAG_…
    double bytes, when;

    bool is_restartable() const noexcept
    {
        return (flags & SCR_FLAG_RESTARTABLE) != 0;
    }
};

// Collective: SCR_Datasets, newest first.
inline std::vector<dataset> datasets()
{
    int n = 0;
    char name[SCR_MAX_FILENAME];
    std::vector<dataset> all;
    detail::check(SCR_Datasets(&n));
    for (int i = 0; i < n; i++) {
        dataset d{};
        detail::check(SCR_Dataset(i, name, &d.id, &d.flags, &d.bytes, &d.when));
        d.name = name;
        all.push_back(d);
    }
    return all;
}

// --- the rest ---

inline bool should_exit()
{
    int flag = 0;
    detail::check(SCR_Should_exit(&flag));
    return flag != 0;
}

// SCR_Current, SCR_Delete (delete is a word of C++) and SCR_Drop.
inline void current(const std::string &name)
{
    detail::check(SCR_Current(detail::c_text(name)));
}

inline void remove(const std::string &name)
{
    detail::check(SCR_Delete(detail::c_text(name)));
}

inline void drop(const std::string &name)
{
    detail::check(SCR_Drop(detail::c_text(name)));
}

} // namespace scr

#endif
