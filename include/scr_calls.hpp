// SPDX-License-Identifier: BSD-3-Clause
// SCR for C++17, included by scr.hpp: the error, and the calls that are functions.
#ifndef SCR_CALLS_HPP
#define SCR_CALLS_HPP

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

// --- paths ---

// Local. SCR_Route_file: the path to use now for a file under the prefix directory.
inline std::filesystem::path route(const std::filesystem::path &name)
{
    char path[SCR_MAX_FILENAME];
    detail::check(SCR_Route_file(detail::c_text(name.native()), path));
    return path;
}

// --- checkpoints ---

inline bool need_checkpoint()
{
    int flag = 0;
    detail::check(SCR_Need_checkpoint(&flag));
    return flag != 0;
}

// The name of the checkpoint to restart from.
inline std::optional<std::string> have_restart()
{
    int flag = 0;
    char name[SCR_MAX_FILENAME];
    detail::check(SCR_Have_restart(&flag, name));
    return flag != 0 ? std::optional<std::string>(name) : std::nullopt;
}

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
