"""Options of the command line for scans, of classification and segmentation alike."""

from multiway.tasks.options import names, numbers
from multiway.tasks.protocol import Option

SCANS = (
    Option(name="patient", field="read.patient", help="Column of the patient; splits keep a patient's scans together."),
    Option(
        name="size", field="read.size", read=numbers(int, 3),
        help="Voxels to crop or pad to, about the centre: 64,64,64.",
    ),
    Option(
        name="spacing", field="read.spacing", read=numbers(float, 3),
        help="Millimetres per voxel to resample to: 1,1,1.",
    ),
    Option(
        name="resample_to", field="read.resample_to", read=numbers(int, 3),
        help="Voxels to stretch or shrink to: 28,28,28.",
    ),
    Option(name="orientation", field="read.orientation", help="Order and direction of the axes to turn to: RAS."),
    Option(
        name="window", field="read.window", read=numbers(float, 2),
        help="Lowest and highest intensity that are told apart: -100,300.",
    ),
    Option(
        name="axes", field="read.axes", read=names, help="Names of the three axes of arrays without an affine."
    ),
    Option(
        name="keep_going", commands=("predict",), is_flag=True,
        help="Go on after a scan that cannot be read, and list those.",
    ),
    Option(
        name="cases", commands=("explain",), read=names,
        help="Scans to explain, by name, separated by commas; a few if not given.",
    ),
)  # fmt: skip
