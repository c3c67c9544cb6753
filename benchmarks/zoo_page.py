"""Write the documentation's page about the zoo from its numbers.

feynkac bench --suite zoo --json > docs/results/zoo.json
python benchmarks/zoo_page.py docs/results/zoo.json > docs/results/zoo.md
"""

import sys
from pathlib import Path

from feynkac.benchmarks.zoo import Zoo, read_rows
from feynkac.benchmarks.zoo_table import page

if __name__ == "__main__":
    print(page(Zoo(tuple(read_rows(Path(sys.argv[1]))))))
