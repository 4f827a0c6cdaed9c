// SPDX-License-Identifier: BSD-3-Clause
// The same from C++, with a checkpoint whose name is a std::string, and with scr.hpp.
#include <fstream>
#include <iostream>
#include <string>

#include <mpi.h>
#include <scr.h>
#if __cplusplus >= 201703L
#include <scr.hpp>

static bool lists(const std::string &name)
{
    const auto all = scr::datasets();
    return all.size() == 1 && all[0].name == name && all[0].is_restartable();
}

template <typename F> static bool refuses_nul(F call)
{
    try {
        call(std::string("one\0two", 7));
    } catch (const scr::error &e) {
        return e.code() == 8 && std::string(e.what()).find("\"one\"") == 0;
    }
    return false;
}

static bool refuses_nuls()
{
    return refuses_nul(scr::drop) && refuses_nul(scr::current) &&
           refuses_nul(scr::remove) && refuses_nul(scr::route) &&
           refuses_nul([](const std::string &name) { scr::config(name); }) &&
           refuses_nul([](const std::string &name) { scr::output to(name); });
}
#else
static bool refuses_nuls()
{
    return true;
}

static bool lists(const std::string &)
{
    return true;
}
#endif

static bool checkpoint(const std::string &name, int rank)
{
    char path[SCR_MAX_FILENAME];
    const std::string file = name + "/" + std::to_string(rank);
    if (SCR_Start_output(name.c_str(), SCR_FLAG_CHECKPOINT) != SCR_SUCCESS ||
        SCR_Route_file(file.c_str(), path) != SCR_SUCCESS)
        return false;
    std::ofstream out(path);
    out << name;
    out.close();
    return SCR_Complete_output(out.good()) == SCR_SUCCESS;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        std::cout << SCR_VERSION << std::endl;
        return std::string(SCR_VERSION) == SCR_Get_version() ? 0 : 1;
    }
    int rank = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    bool good = SCR_Init() == SCR_SUCCESS && checkpoint("one", rank) && lists("one") &&
                refuses_nuls();
    good = SCR_Finalize() == SCR_SUCCESS && good;
    MPI_Finalize();
    return good ? 0 : 1;
}
