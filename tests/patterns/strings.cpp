// SPDX-License-Identifier: BSD-3-Clause
// Names that are temporaries: their characters are gone when the call has returned.
#include <fstream>
#include <string>

#include <scr.h>

#include "patterns.h"

static std::string route(const std::string &name)
{
    std::string path(SCR_MAX_FILENAME, '\0');
    SCR_Route_file((name + "").c_str(), &path[0]);
    return path.c_str();
}

int strings_write(int rank, int step)
{
    SCR_Start_output(("ckpt." + std::to_string(step)).c_str(), SCR_FLAG_CHECKPOINT);
    std::ofstream out(route("strings/" + std::to_string(rank)));
    out << rank << "." << step;
    out.close();
    return SCR_Complete_output(out.good());
}
