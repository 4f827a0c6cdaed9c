/* SPDX-License-Identifier: BSD-3-Clause */
/* How often to checkpoint: formulas, without any measuring.
 *
 * Times are seconds, rates failures a second; failures come at random, at a constant
 * rate. M is the mean time between failures, 1/rate. A cost is what a checkpoint keeps
 * the program from computing. Costs and rates may be 0 and infinite; a negative one,
 * a mean time of 0, or NaN gives NaN. Nothing here can fail otherwise, takes memory,
 * or depends on anything but its arguments. Levels are numbered from 0 here, the
 * cheapest first, and a failure of class l needs a checkpoint of level l or above. */
#ifndef SCR_BASE_INTERVAL_H
#define SCR_BASE_INTERVAL_H

/* --- one level: seconds of computing between two checkpoints --- */
/* First order: sqrt(2CM) (Young, CACM 17(9), 1974). Good where C is far below M. */
double scr_interval_young(double cost, double mean);
/* Higher order (Daly, FGCS 22(3), 2006, equation 37); M where C >= 2M. */
double scr_interval_daly(double cost, double mean);
/* Exact: where the expected time M e^(R/M) (e^((T+C)/M) - 1) / T for a second of work
 * is least: M (1 + W(-e^(-C/M - 1))), whatever the time R that a restart takes. W is
 * the principal branch of Lambert's function. 0 if C is 0, infinite if M is. */
double scr_interval_best(double cost, double mean);
/* Share of the time, from 0 to 1, that is lost to checkpoints, and to work that is done
 * again, in the first order: h / (1 + h) with h = C/T + rate T/2. */
double scr_interval_waste(double cost, double rate, double interval);

/* --- several levels --- */
enum { SCR_LEVELS_MAX = 6 };

struct scr_ckpt_level {
    double cost;    /* of a checkpoint of this level, in addition to the lower ones */
    double rate;    /* of failures that need this level at least */
    double recover; /* time to restart from it; only the Markov model counts it */
};

/* Two levels: checkpoints in cache, and one out of `every` of them is also flushed. */
struct scr_pace {
    double interval; /* seconds of computing between two checkpoints */
    int every;       /* 0: none is flushed */
};
enum { SCR_PACE_MOST = 1000000 };
/* Costs and rates are as in struct scr_ckpt_level. level[0] is the checkpoint in cache,
 * level[1] its flush, which needs one in cache. every > 0: the number is given, and
 * only the interval is found. 0: it is the ratio of the periods that are best for each
 * level, from 1 to SCR_PACE_MOST, and larger where a flush takes `drain` seconds in the
 * background: it ends before the next one begins. Without a rate of the second level
 * none is flushed. Then the interval is scr_interval_best of the costs of an interval,
 * and of the rate at which intervals are lost: after a failure of class 1 those since
 * the last flush. */
struct scr_pace scr_pace_find(const struct scr_ckpt_level level[2], double drain,
                              int every);

/* The Markov model of Moody, Bronevetsky, Mohror and de Supinski (SC10): expected time
 * to get from one checkpoint of the highest level to the next, where failures also
 * strike checkpoints and restarts, in which those that the level restarted from may not
 * survive make a higher one necessary. Costs are of the whole checkpoint of a
 * level, as it takes the place of a lower one here. */
struct scr_markov {
    int n; /* levels, from 1 to SCR_LEVELS_MAX */
    struct scr_ckpt_level level[SCR_LEVELS_MAX];
    /* Checkpoints of level l between two of a higher one, from 0; that of the last
     * level is taken as 1. */
    int between[SCR_LEVELS_MAX];
    double interval; /* seconds of work between two checkpoints of any level */
};
/* Work done for a second that passes, from 0 to 1; *time (may be NULL): the expected
 * seconds. NaN: an argument is not as it has to be. Steps: the sum of between. */
double scr_markov_efficiency(const struct scr_markov *m, double *time);

#endif
