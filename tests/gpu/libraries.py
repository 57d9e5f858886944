"""Where CUDA's libraries are on a machine that has PyTorch: its packages bring their own, which the
loader does not know of."""

import glob
import importlib.util
import os

# Where the loader looks beside what it is told, on the usual distributions.
SYSTEM_FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
                  "/usr/lib")


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


def searched_folders():
    """What this process's loader is told already, then those folders."""
    told = os.environ.get("LD_LIBRARY_PATH", "")
    return [folder for folder in told.split(os.pathsep) if folder] + library_folders()


def environment(**more):
    """This process's, with those folders for the loader, and `more`. For our programs alone:
    PyTorch finds its own."""
    return {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(searched_folders()), **more}


def link_cublaslt(folder):
    """Makes `folder` hold links to cuBLASLt and to nothing else; how many it found."""
    count = 0
    for name in ("libcublasLt.so.13", "libcublasLt.so.12"):
        for source in (*searched_folders(), *SYSTEM_FOLDERS):
            if os.path.exists(os.path.join(source, name)):
                os.symlink(os.path.join(source, name), os.path.join(folder, name))
                count += 1
                break
    return count
