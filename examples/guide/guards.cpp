// SPDX-License-Identifier: BSD-3-Clause
// Sums up steps with scr.hpp: guards STEPS [STEP], and at that step rank 0 cannot write
// its checkpoint.
#include <mpi.h>
#include <scr.hpp>

#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>

struct state {
    int step = 0;
    long sum = 0;
};

static state load(const std::filesystem::path &path)
{
    state s;
    std::ifstream file(path);
    if (!(file >> s.step >> s.sum))
        throw std::runtime_error("cannot read " + path.string());
    return s;
}

static void save(const std::filesystem::path &path, const state &s)
{
    std::ofstream file(path);
    file << s.step << ' ' << s.sum;
    file.close(); // before complete()
    if (!file)
        throw std::runtime_error("cannot write " + path.string());
}

static state restart(const std::string &mine)
{
    while (auto name = scr::have_restart()) {
        try {
            scr::restart from;
            const state s = load(from.route(*name + mine));
            from.complete();
            return s;
        } catch (const std::exception &) {
            // some process could not read it: the next older one
        }
    }
    return {};
}

static void checkpoint(const state &s, const std::string &mine, bool broken)
{
    const std::string name = "step." + std::to_string(s.step);
    try {
        scr::output to(name);
        if (broken)
            throw std::runtime_error("this process cannot write");
        save(to.route(name + mine), s);
        to.complete();
    } catch (const std::exception &e) { // on all processes
        std::cerr << "no " + name + ": " + e.what() + "\n";
    }
}

static void run(int rank, int steps, int broken)
{
    scr::session session;
    const std::string mine = "/rank_" + std::to_string(rank);
    state s = restart(mine);
    if (rank == 0)
        std::cout << "starting at step " + std::to_string(s.step) + "\n";
    while (s.step < steps && !scr::should_exit()) {
        s.sum += ++s.step;
        if (s.step % 5 == 0)
            checkpoint(s, mine, rank == 0 && s.step == broken);
    }
    if (rank == 0)
        std::cout << "sum " + std::to_string(s.sum) + "\n";
    for (const scr::dataset &d : scr::datasets())
        if (rank == 0 && d.is_restartable())
            std::cout << d.name + " is there\n";
    session.finalize();
}

int main(int argc, char **argv)
{
    int rank = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    try {
        run(rank, argc > 1 ? std::stoi(argv[1]) : 20,
            argc > 2 ? std::stoi(argv[2]) : -1);
    } catch (const std::exception &e) {
        std::cerr << std::string("guards: ") + e.what() + "\n";
        MPI_Abort(MPI_COMM_WORLD, 1); // other processes may wait for this one
    }
    MPI_Finalize();
    return 0;
}
