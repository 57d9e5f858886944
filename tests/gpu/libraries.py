"""Where CUDA's libraries are on a machine that has PyTorch: its packages bring their own, which the
loader does not know of."""

import glob
import importlib.util
import os


def library_folders():
    """Folders of PyTorch's packages (nvidia/cublas/lib and their like), then of CUDA itself."""
    out = []
    for name, pattern in (("nvidia", "*/lib"), ("torch", "lib")):
        package = importlib.util.find_spec(name)
        for folder in (package and package.submodule_search_locations) or []:
            out += sorted(glob.glob(os.path.join(folder, pattern)))
    for pattern in ("/usr/local/cuda/lib64", "/usr/local/cuda-*/lib64"):
        out += sorted(glob.glob(pattern), reverse=True)
    return [folder for folder in out if os.path.isdir(folder)]


def environment():
    """This process's, with those folders behind what its loader is told already. For our programs
    alone: PyTorch finds its own."""
    told = os.environ.get("LD_LIBRARY_PATH", "")
    folders = ([told] if told else []) + library_folders()
    return {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(folders)}
