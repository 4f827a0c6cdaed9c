// SPDX-License-Identifier: BSD-3-Clause
// Conway's Game of Life on a torus, with checkpoints by iostreams through SCR (README.md).
//
//     mpirun -n 4 life [GENERATIONS]
//
// Each rank has a strip of rows. The last generation is written to field.bin.
#include <mpi.h>
#include <scr.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

const int width = 256;
const int rows = 64; // of a rank
const int every = 40;

// The path that SCR gives for a file of the open phase.
std::string route(const std::string &name)
{
    char path[SCR_MAX_FILENAME];
    if (SCR_Route_file(name.c_str(), path) != SCR_SUCCESS)
        throw std::runtime_error("no path for " + name);
    return path;
}

template <typename T> std::string text(const char *before, T value)
{
    std::ostringstream s;
    s << before << value;
    return s.str();
}

// An output phase. It ends with the object: unless it was committed, as when an exception
// passes, the dataset is dropped on all ranks, and none waits for another.
class Output {
public:
    Output(std::string name, int flags) : open_(SCR_Start_output(&name[0], flags) == SCR_SUCCESS)
    {
    }
    ~Output()
    {
        if (open_)
            SCR_Complete_output(0);
    }
    // No: SCR has printed why, and all ranks get the same result.
    bool is_open() const { return open_; }
    void commit()
    {
        open_ = false;
        SCR_Complete_output(1); // if it fails, SCR says why, and the dataset is dropped
    }

private:
    Output(const Output &);
    Output &operator=(const Output &);
    bool open_;
};

class Strip {
public:
    Strip(int rank, int ranks) :
        rank_(rank), ranks_(ranks), generation_(0), cells_(size(rows + 2))
    {
        unsigned seed = 12345U + static_cast<unsigned>(rank);
        for (std::size_t i = size(1); i < size(rows + 1); i++) {
            seed = seed * 1664525U + 1013904223U;
            cells_[i] = static_cast<char>(seed >> 31);
        }
    }

    int generation() const { return generation_; }

    void advance()
    {
        const int up = (rank_ + ranks_ - 1) % ranks_, down = (rank_ + 1) % ranks_;
        MPI_Sendrecv(&cells_[size(1)], width, MPI_CHAR, up, 0, &cells_[size(rows + 1)], width,
                     MPI_CHAR, down, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Sendrecv(&cells_[size(rows)], width, MPI_CHAR, down, 1, &cells_[0], width, MPI_CHAR,
                     up, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        std::vector<char> next(cells_.size());
        for (int i = 1; i <= rows; i++)
            for (int j = 0; j < width; j++) {
                const int n = neighbours(i, j);
                next[size(i) + static_cast<std::size_t>(j)] = n == 3 || (n == 2 && at(i, j));
            }
        cells_.swap(next);
        generation_++;
    }

    void save(const std::string &path) const
    {
        std::ofstream file(path.c_str(), std::ios::binary);
        file << generation_ << '\n';
        write_rows(file);
        file.close(); // before the call that declares the file complete
        if (!file.good())
            throw std::runtime_error("cannot write " + path);
    }

    void load(const std::string &path)
    {
        std::ifstream file(path.c_str(), std::ios::binary);
        file >> generation_;
        file.get();
        file.read(&cells_[size(1)], static_cast<std::streamsize>(size(rows)));
        if (!file.good())
            throw std::runtime_error("cannot read " + path);
    }

    // Rank by rank.
    bool write_result(const std::string &path) const
    {
        bool good = true;
        for (int r = 0; r < ranks_; r++) {
            if (r == rank_) {
                std::ofstream file(path.c_str(), r == 0 ? std::ios::binary
                                                        : std::ios::binary | std::ios::app);
                write_rows(file);
                file.close();
                good = file.good();
            }
            MPI_Barrier(MPI_COMM_WORLD);
        }
        return good;
    }

private:
    static std::size_t size(int n) { return static_cast<std::size_t>(n) * width; }
    char at(int i, int j) const
    {
        return cells_[size(i) + static_cast<std::size_t>((j + width) % width)];
    }
    int neighbours(int i, int j) const
    {
        int n = 0;
        for (int k = -1; k <= 1; k++)
            n += at(i - 1, j + k) + at(i + 1, j + k) + (k ? at(i, j + k) : 0);
        return n;
    }
    void write_rows(std::ostream &file) const
    {
        file.write(&cells_[size(1)], static_cast<std::streamsize>(size(rows)));
    }

    int rank_, ranks_, generation_;
    std::vector<char> cells_; // a row more on either side
};

// In one write, so that no line of another rank gets into it.
void complain(int rank, const std::string &what)
{
    std::cerr << text("life: rank ", rank) + ": " + what + "\n";
}

void checkpoint(const Strip &strip, int rank)
{
    const std::string name = text("life.", strip.generation());
    try {
        Output output(name, SCR_FLAG_CHECKPOINT);
        if (output.is_open()) {
            strip.save(route(name + text("/strip.", rank)));
            output.commit();
        }
    } catch (const std::exception &e) { // the checkpoint before it is still there
        complain(rank, "going on without " + name + ": " + e.what());
    }
}

// The strip of this rank.
bool load(Strip &strip, int rank)
{
    try {
        strip.load(route(text("strip.", rank)));
        return true;
    } catch (const std::exception &e) {
        complain(rank, e.what());
        return false;
    }
}

// Tries the checkpoints SCR offers, newest first.
void restart(Strip &strip, int rank)
{
    int have = 0;
    char name[SCR_MAX_FILENAME];
    while (SCR_Have_restart(&have, name) == SCR_SUCCESS && have) {
        if (SCR_Start_restart(name) != SCR_SUCCESS)
            return;
        Strip read(strip);
        if (SCR_Complete_restart(load(read, rank)) == SCR_SUCCESS) {
            strip = read;
            if (rank == 0)
                std::cout << "life: restarted from " << name << std::endl;
            return;
        }
    }
}

// False: SCR has said why it cannot start. Then no other call is made.
bool begin(int rank)
{
    const bool good = SCR_Init() == SCR_SUCCESS;
    if (!good && rank == 0)
        std::cerr << "life: going on without checkpoints" << std::endl;
    return good;
}

// False: it was stopped before the last generation.
bool live(Strip &strip, int generations, int rank, bool with_scr)
{
    int stop = 0;
    while (strip.generation() < generations && !stop) {
        strip.advance();
        if (with_scr && strip.generation() % every == 0 && strip.generation() < generations) {
            checkpoint(strip, rank);
            SCR_Should_exit(&stop);
        }
    }
    return !stop;
}

// 0: not a number of generations.
int generations_of(int argc, char **argv)
{
    if (argc == 1)
        return 400;
    char *end = argv[1];
    errno = 0;
    const long n = std::strtol(argv[1], &end, 10);
    const bool good = argc == 2 && *end == '\0' && errno == 0 && n > 0 && n <= 1000000000;
    return good ? static_cast<int>(n) : 0;
}

bool simulate(int generations, int rank, int ranks)
{
    const bool with_scr = begin(rank);
    Strip strip(rank, ranks);
    if (with_scr)
        restart(strip, rank);
    bool good = !live(strip, generations, rank, with_scr) || strip.write_result("field.bin");
    if (with_scr && SCR_Finalize() != SCR_SUCCESS)
        good = false; // SCR has said what did not reach the prefix directory
    return good;
}

} // namespace

int main(int argc, char **argv)
{
    int rank = 0, ranks = 1, status = 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int generations = generations_of(argc, argv);
    if (generations > 0)
        status = simulate(generations, rank, ranks) ? EXIT_SUCCESS : EXIT_FAILURE;
    else if (rank == 0)
        std::cerr << "usage: life [GENERATIONS]" << std::endl;
    MPI_Finalize();
    return status;
}
