# SPDX-License-Identifier: BSD-3-Clause
"""What was published: the problems, the counts, the times.

2017: Hayot-Sasson, Gao, Yan, Glatard, "Sequential algorithms to split and merge ultra-high resolution 3D images", IEEE Big Data 2017.
2020: the drafts of Guédon, Glatard, Hayot-Sasson on resplitting, the thesis that they became, and the results in their repositories.
Shapes have the slowest axis first; the papers' own order of axes is turned where it differs.
"""

from dataclasses import dataclass, field
from typing import Optional

GB, GIB = 10**9, 1 << 30


@dataclass(frozen=True)
class Case:
    """A problem of the papers. Counts are in runs, as in docs/algorithm.md, and are the papers' where they published them."""
    name: str
    group: str
    shape: tuple
    source: tuple
    target: tuple
    itemsize: int = 2
    naive: Optional[int] = None
    held: Optional[int] = None # elements: buffers of the aggregate, loops in C order, all axes kept
    published: dict = field(default_factory=dict, hash=False, compare=False) # of a group, see below

    @property
    def n_bytes(self):
        total = self.itemsize
        for n in self.shape:
            total *= n
        return total


def cubes(name, group, edge, before, after, itemsize, naive, held, **published):
    def shape(n):
        return n if isinstance(n, tuple) else (n,) * 3
    return Case(name, group, (edge,) * 3, shape(before), shape(after), itemsize, naive, held, published)


# ---- 2017: BigBrain, 40 um -------------------------------------------------------------------------------------------

BRAIN, BRAIN_BLOCK, BRAIN_SLAB = (3500, 3025, 3850), (700, 605, 770), (28, 3025, 3850)
BRAIN_BUDGETS = [n * GIB for n in (3, 6, 9, 12, 16)]
BRAIN_NAIVE = 52_937_625
# Seeks by budget. Of multiple, the paper's merge leaves out the accesses to the big image, which its split counts.
BRAIN_SEEKS = {
    "clustered": [21_175_125, 17_625, 10_625, 7_125, 130],
    "multiple, merge": [750, 425, 325, 275, 225],
    "multiple, split": [776, 438, 334, 282, 230],
    "buffered slabs": [157, 139, 134, 132, 130],
}
BRAIN_NAIVE_SLABS = 250
# Mean seconds: naive, then by budget. hdd: HGST Travelstar 7K1000; ssd: SanDisk X400; 32 GB of memory.
BRAIN_SECONDS = {
    ("merge", "hdd", "clustered"): (12760, [3187, 1687, 1659, 1498, 1309]),
    ("merge", "hdd", "multiple"): (12760, [1693, 1529, 1478, 1445, 1414]),
    ("merge", "ssd", "clustered"): (4892, [2176, 1568, 1830, 1354, 957]),
    ("merge", "ssd", "multiple"): (4892, [1080, 916, 886, 847, 848]),
    ("split", "hdd", "clustered"): (3487, [2092, 2133, 1944, 1811, 1567]),
    ("split", "hdd", "multiple"): (3487, [1615, 1513, 1493, 1479, 1471]),
    ("split", "ssd", "clustered"): (1770, [1212, 1238, 1165, 1282, 1205]),
    ("split", "ssd", "multiple"): (1770, [1390, 1262, 1251, 1178, 1293]),
}

BIGBRAIN = [
    Case("merge", "bigbrain", BRAIN, BRAIN_BLOCK, BRAIN, naive=BRAIN_NAIVE),
    Case("split", "bigbrain", BRAIN, BRAIN, BRAIN_BLOCK, naive=BRAIN_NAIVE),
]

# ---- August 2020: keep against baseline, HDF5, float16 ---------------------------------------------------------------

# baseline: seeks inside output files. keep by budget in GB: (opens, seeks inside) of outputs, the same of inputs, and the buffer.
# seconds by budget: baseline, keep. One repetition each.
AUGUST = [
    cubes("0", "3500", 3500, 875, (875, 1750, 875), 2, 56_064, 1_339_843_750, baseline=56_000,
          keep={256: (32, 0, 64, 0, (875, 1750, 875)), 8: (32, 0, 64, 0, (875, 1750, 875)), 4: (32, 0, 64, 0, (875, 1750, 875))},
          seconds={256: (275.5, 281.8), 8: (459.7, 350.0), 4: (493.5, 400.5)}),
    cubes("1", "3500", 3500, 875, (700, 875, 700), 2, 73_500_128, 7_288_750_000, baseline=73_500_048,
          keep={256: (100, 0, 64, 0, (875, 875, 875)), 8: (100, 0, 128, 128, (700, 875, 875)), 4: (100, 0, 128, 128, (700, 875, 875))},
          seconds={256: (314.9, 319.1), 8: (466.7, 354.0), 4: (581.3, 384.4)}),
    cubes("2", "3500", 3500, 350, 500, 2, 196_001_000, 5_464_000_000, baseline=196_000_000,
          keep={256: (343, 0, 1000, 0, (700, 700, 700)), 8: (343, 0, 1600, 1200, (500, 700, 700)), 4: (343, 0, 1600, 1200, (500, 700, 700))},
          seconds={256: (432.8, 405.7), 8: (805.8, 425.7), 4: (857.4, 427.6)}),
    cubes("3", "3500", 3500, 350, 250, 2, 196_337_792, 2_524_875_000, baseline=196_336_576,
          keep={256: (2744, 0, 1000, 0, (350, 350, 350)), 8: (4312, 3136, 1000, 0, (350, 350, 350)), 4: (2744, 0, 2200, 2200, (250, 350, 350))},
          seconds={256: (511.1, 526.9), 8: (835.9, 607.8), 4: (909.9, 505.9)}),
    cubes("4", "3500", 3500, 175, 250, 2, 392_008_000, 2_524_875_000, baseline=392_000_000,
          keep={256: (2744, 0, 8000, 0, (350, 350, 350)), 8: (4312, 3136, 8000, 0, (350, 350, 350)), 4: (2744, 0, 12800, 9600, (250, 350, 350))},
          seconds={256: (937.3, 684.8), 8: (1338.4, 760.4), 4: (1576.9, 718.3)}),
    cubes("5", "3500", 3500, (350, 875, 350), (500, 875, 500), 2, 196_000_400, 5_337_500_000, baseline=196_000_000,
          keep={256: (196, 0, 400, 0, (700, 875, 700)), 8: (196, 0, 640, 480, (500, 875, 700)), 4: (196, 0, 640, 480, (500, 875, 700))},
          seconds={256: (347.7, 359.9), 8: (555.9, 377.2), 4: (574.0, 378.9)}),
    cubes("6", "3500", 3500, (350, 875, 350), (350, 500, 350), 2, 210_800, 566_562_500, baseline=210_000,
          keep={256: (700, 0, 400, 0, (350, 875, 350)), 8: (700, 0, 400, 0, (350, 875, 350)), 4: (700, 0, 400, 0, (350, 875, 350))},
          seconds={256: (311.4, 330.7), 8: (343.3, 358.5), 4: (363.0, 362.3)}),
]

# Keep was at the floor in all of these; seconds are of 256 GB and six disks.
LARGE = [
    cubes("0", "8000", 8000, 2000, (2000, 4000, 2000), 2, 128_064, 16_000_000_000, baseline=128_000, seconds={256: (2931, 2710)}),
    cubes("1", "8000", 8000, 2000, 1600, 2, 384_096_096, 93_952_000_000, baseline=384_096_024, seconds={256: (5720, 3491)}),
    cubes("2", "8000", 8000, 800, 1000, 2, 1_024_001_000, 59_872_000_000, baseline=1_024_000_000, seconds={256: (12274, 32433)}),
    cubes("3", "8000", 8000, 800, 500, 2, 1_025_026_536, 27_244_000_000, baseline=1_025_025_024, seconds={256: (10270, 13120)}),
    cubes("4", "8000", 8000, 200, 250, 2, 4_096_064_000, 13_145_500_000, baseline=4_096_000_000, seconds={256: (14210, 11325)}),
    cubes("5", "8000", 8000, 200, 160, 2, 3_849_696_000, 7_777_792_000, baseline=3_849_624_000, seconds={256: (23192, 21536)}),
    cubes("6", "8000", 8000, 400, 500, 2, 2_048_008_000, 27_244_000_000, baseline=2_048_000_000, seconds={256: (4853, 4571)}),
    cubes("7", "8000", 8000, 400, 250, 2, 2_052_116_288, 13_145_500_000, baseline=2_052_104_192, seconds={256: (6346, 5787)}),
]

# ---- October 2020: raw files, 1 byte an element, everything in the page cache ----------------------------------------

# keep: seeks; None where the program failed, since its aggregate does not divide the array. seconds: baseline, keep.
OCTOBER = [
    cubes("1a", "october", 3500, 350, 1750, 1, 122_501_000, 5_359_375_000, keep=1008, seconds=(508, 407)),
    cubes("1b", "october", 3500, 1750, 350, 1, 1008, 5_359_375_000, keep=1008, seconds=(260, 450)),
    cubes("2a", "october", 3500, 350, 875, 1, 147_001_000, 8_778_656_250, keep=None, seconds=(578, None)),
    cubes("2b", "october", 3500, 875, 350, 1, 49_112_832, 3_022_687_500, keep=1064, seconds=(398, 559)),
    cubes("3a", "october", 3500, 350, 700, 1, 122_501_000, 343_000_000, keep=1125, seconds=(499, 405)),
    cubes("3b", "october", 3500, 700, 350, 1, 1125, 343_000_000, keep=1125, seconds=(257, 438)),
    cubes("4a", "october", 3500, 350, 500, 1, 196_001_000, 5_464_000_000, keep=1343, seconds=(785, 767)),
    cubes("4b", "october", 3500, 500, 350, 1, 147_168_599, 3_896_000_000, keep=1343, seconds=(683, 864)),
    cubes("5a", "october", 3500, 350, 250, 1, 196_337_792, 2_524_875_000, keep=3744, seconds=(884, 1153)),
    cubes("5b", "october", 3500, 250, 350, 1, 269_502_744, 3_896_000_000, keep=3744, seconds=(1002, 1080)),
    cubes("6a", "october", 3500, 350, 175, 1, 9000, 42_875_000, keep=9000, seconds=(361, 678)),
    cubes("6b", "october", 3500, 175, 350, 1, 245_008_000, 42_875_000, keep=9000, seconds=(838, 631)),
]

# Written down and never run: the counts are not the authors'.
UNRUN = [
    cubes("1a", "unrun", 6000, 1000, 3000, 1, 216_000_216, 27_000_000_000, keep=224),
    cubes("1b", "unrun", 6000, 3000, 1000, 1, 224, 27_000_000_000, keep=224),
    cubes("2a", "unrun", 6000, 1000, 2000, 1, 216_000_216, 8_000_000_000, keep=243),
    cubes("2b", "unrun", 6000, 2000, 1000, 1, 243, 8_000_000_000, keep=243),
    cubes("3a", "unrun", 6000, 1000, 1500, 1, 288_000_216, 49_500_000_000, keep=280),
    cubes("3b", "unrun", 6000, 1500, 1000, 1, 144_096_192, 23_500_000_000, keep=280),
    cubes("4a", "unrun", 6000, 1000, 1200, 1, 360_000_216, 44_608_000_000, keep=341),
    cubes("4b", "unrun", 6000, 1200, 1000, 1, 288_096_165, 34_160_000_000, keep=341),
    cubes("5a", "unrun", 6000, 1000, 750, 1, 288_192_408, 20_062_500_000, keep=728),
    cubes("5b", "unrun", 6000, 750, 1000, 1, 432_000_512, 23_500_000_000, keep=728),
    cubes("6a", "unrun", 6000, 1000, 600, 1, 288_288_720, 17_216_000_000, keep=1216),
    cubes("6b", "unrun", 6000, 600, 1000, 1, 504_001_000, 34_160_000_000, keep=1216),
]

CASES = BIGBRAIN + AUGUST + LARGE + OCTOBER + UNRUN
