// SPDX-License-Identifier: BSD-3-Clause
// Conway's Game of Life on a torus, with checkpoints by iostreams through SCR (README.md).
//
//     mpirun -n 4 life [GENERATIONS]
//
// Each rank has a strip of rows. The last generation is written to field.bin.
#include <mpi.h>
#include <scr.h>

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace {

const int width = 256;
const int rows = 64; // of a rank
const int every = 40;

// A path that SCR gives for a file of the open phase; "" if it refuses.
std::string route(const std::string &name)
{
    char path[SCR_MAX_FILENAME];
    return SCR_Route_file(name.c_str(), path) == SCR_SUCCESS ? path : "";
}

template <typename T> std::string text(const char *before, T value)
{
    std::ostringstream s;
    s << before << value;
    return s.str();
}

// An output phase. It ends with the object: if nobody said that the files are good, as when
// an exception passes, the dataset is dropped on all ranks.
class Output {
public:
    Output(std::string name, int flags) :
        good_(false), open_(SCR_Start_output(&name[0], flags) == SCR_SUCCESS)
    {
    }
    ~Output()
    {
        if (open_)
            SCR_Complete_output(good_);
    }
    bool is_open() const { return open_; }
    void set_good(bool good) { good_ = good; }

private:
    Output(const Output &);
    Output &operator=(const Output &);
    bool good_, open_;
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

    bool save(const std::string &path) const
    {
        std::ofstream file(path.c_str(), std::ios::binary);
        file << generation_ << '\n';
        write_rows(file);
        file.close(); // before SCR is told that the file is complete
        return file.good();
    }

    bool load(const std::string &path)
    {
        int generation = 0;
        std::vector<char> cells(cells_.size());
        std::ifstream file(path.c_str(), std::ios::binary);
        file >> generation;
        file.get();
        file.read(&cells[size(1)], static_cast<std::streamsize>(size(rows)));
        if (!file.good())
            return false;
        cells_.swap(cells);
        generation_ = generation;
        return true;
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

void checkpoint(const Strip &strip, int rank)
{
    const std::string name = text("life.", strip.generation());
    Output output(name, SCR_FLAG_CHECKPOINT);
    if (output.is_open()) {
        const std::string path = route(name + text("/strip.", rank));
        output.set_good(!path.empty() && strip.save(path));
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
        const std::string path = route(text("strip.", rank));
        const bool good = !path.empty() && read.load(path);
        if (SCR_Complete_restart(good) == SCR_SUCCESS) {
            strip = read;
            if (rank == 0)
                std::cout << "life: restarted from " << name << std::endl;
            return;
        }
    }
}

} // namespace

int main(int argc, char **argv)
{
    int rank = 0, ranks = 1, stop = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int generations = argc > 1 ? static_cast<int>(std::strtol(argv[1], 0, 10)) : 400;
    SCR_Init();

    Strip strip(rank, ranks);
    restart(strip, rank);
    while (strip.generation() < generations && !stop) {
        strip.advance();
        if (strip.generation() % every == 0 && strip.generation() < generations) {
            checkpoint(strip, rank);
            SCR_Should_exit(&stop);
        }
    }
    const bool good = stop || strip.write_result("field.bin");
    SCR_Finalize();
    MPI_Finalize();
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
