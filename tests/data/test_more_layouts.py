"""Ten layouts of loggers, instruments, offices and exporters, from memory, written before reading was changed."""

import numpy as np

from data.test_public_layouts import checked, days, level, written


def quoted(*cells):
    return ",".join(f'"{cell}"' for cell in cells)


def test_ghcn_daily(tmp_path):
    """No header: station, day, element, tenths of degrees, flags of measurement, quality and source, an hour."""
    rows = [
        f"{station},{day:%Y%m%d},{element},{value:.0f},,,a,"
        for place, (station, element) in enumerate(
            [("ASN00015643", "TMAX"), ("ASN00015643", "TMIN"), ("USW00094728", "TMAX"), ("USW00094728", "TMIN")]
        )
        for day, value in zip(days(300, "D", "2023-01-01"), level(300, 365, place), strict=True)
    ]
    code, task, summary, said = checked(written(tmp_path / "2023.csv", rows))
    if code == 0:
        assert (task, summary["rows"], summary["variates"], summary["step"]) == ("forecast", 300, 4, "D")
    else:
        assert "--id" in said or "id_column" in said


def test_ecb(tmp_path):
    """SDMX: a key, its parts once more, months, and columns that describe the series."""
    header = "KEY,FREQ,CURRENCY,CURRENCY_DENOM,EXR_TYPE,EXR_SUFFIX,TIME_PERIOD,OBS_VALUE,OBS_STATUS,OBS_CONF,TITLE"
    rows = [
        f'EXR.M.{money}.EUR.SP00.A,M,{money},EUR,SP00,A,{time:%Y-%m},{value / 90:.4f},A,F,"{money}/Euro, monthly"'
        for place, money in enumerate(["USD", "GBP", "CHF"])
        for time, value in zip(days(240, "MS", "2004-01-01"), level(240, 12, place), strict=True)
    ]
    code, task, summary, _ = checked(written(tmp_path / "data.csv", [header, *rows]))
    assert (code, task, summary["variates"], summary["rows"], summary["step"]) == (0, "forecast", 3, 240, "MS")
    assert summary["from"] == "2004-01-01 00:00:00"


def test_entsoe_generation(tmp_path):
    """Quarters of an hour as intervals with their zone, a kind of plant a column, n/e where a country has none."""
    kinds = [f"{kind}  - Actual Aggregated [MW]" for kind in ("Biomass", "Fossil Gas", "Marine", "Solar")]
    times, form = days(800, "15min", "2023-01-01"), "%d.%m.%Y %H:%M"
    values = [level(800, 96, seed) for seed in range(3)]
    rows = [
        quoted("BZN|NL", f"{start:{form}} - {start + np.timedelta64(15, 'm'):{form}} (UTC)", a, b, "n/e", c)
        for start, a, b, c in zip(times, *values, strict=True)
    ]
    code, task, summary, said = checked(written(tmp_path / "generation.csv", [quoted("Area", "MTU", *kinds), *rows]))
    assert (task, summary["rows"], summary["step"]) == ("forecast", 800, "15min")
    assert summary["from"].startswith("2023-01-01 00:00:00")
    assert (code == 0 and summary["variates"] == 3) or "Marine" in said


def test_grafana(tmp_path):
    """A line for Excel that names the separator, and a sign of percent in every cell."""
    rows = [
        quoted(f"{time:%Y-%m-%d %H:%M:%S}", f"{a:.1f}%", f"{b:.1f}%")
        for time, a, b in zip(days(600, "5min"), level(600, 288) / 2, level(600, 288, 1) / 3, strict=True)
    ]
    rows[77] = rows[77].rsplit(",", 1)[0] + ","
    path = written(tmp_path / "cpu.csv", ["sep=,", quoted("Time", "web1:9100", "web2:9100"), *rows])
    code, task, summary, said = checked(path, "--missing", "mask")
    assert (code, task, summary["rows"], summary["step"]) == (0, "forecast", 600, "5min")
    assert summary["names"] == "web1:9100, web2:9100" and summary["missing cells"] == 1 and "%" in said


def test_an_account(tmp_path):
    """Titles, commas for thousands, brackets for what is owed, and a total below."""
    above = ["Demo Company", "Account Transactions", "For the period 1 January 2023 to 31 December 2023", ""]
    amounts = (level(360, 7) - 100) * 100
    balance = amounts.cumsum()

    def spelled(value):
        return f'"({-value:,.2f})"' if value < 0 else f'"{value:,.2f}"'

    rows = [
        f"{day:%d %b %Y},Invoice,{spelled(a)},{spelled(b)}"
        for day, a, b in zip(days(360, "D", "2023-01-01"), amounts, balance, strict=True)
    ]
    below = [f"Total,,{spelled(amounts.sum())},{spelled(balance[-1])}"]
    path = written(tmp_path / "account.csv", [*above, "Date,Source,Amount,Balance", *rows, *below])
    code, task, summary, said = checked(path)
    if code == 0:
        assert (task, summary["rows"], summary["step"]) == ("forecast", 360, "D") and "parentheses" in said
    else:
        assert task == "forecast" and "Total" in said


def test_a_plate_reader(tmp_path):
    """A time a column: numbers of cycles, seconds and degrees above, a well a row."""
    above = ["Application: Tecan i-control", "Device: infinite 200Pro", "Mode,Absorbance", "Wavelength,600,nm", ""]
    cycles = ",".join(["Cycle Nr.", *map(str, range(1, 61))])
    seconds = ",".join(["Time [s]", *(f"{600 * each}" for each in range(60))])
    degrees = ",".join(["Temp. [°C]", *(f"{37 + each % 3 / 10}" for each in range(60))])
    wells = [
        ",".join([f"{row}{column}", *(f"{0.1 + value / 200:.4f}" for value in level(60, 20, column))])
        for row in "AB"
        for column in range(1, 7)
    ]
    code, task, summary, said = checked(written(tmp_path / "growth.csv", [*above, cycles, seconds, degrees, *wells]))
    if code == 0:
        assert (task, summary["rows"]) == ("forecast", 60) and "A1" in summary["names"]
    else:
        assert "header" in said or "--task" in said


def test_hobo(tmp_path):
    """A title, a counter, times of twelve hours with their zone in the header, and marks of events at the end."""
    header = quoted(
        "#", "Date Time, GMT+01:00", "Temp, °C (LGR S/N: 20123456)", "RH, % (LGR S/N: 20123456)", "Host Connected"
    )
    rows = [
        f"{row + 1},{time:%m/%d/%y %I:%M:%S %p},{a / 5:.3f},{b / 2:.3f},"
        for row, (time, a, b) in enumerate(
            zip(days(700, "15min", "2023-06-01"), level(700, 96), level(700, 96, 1), strict=True)
        )
    ]
    rows.append(f"701,{days(701, '15min', '2023-06-01')[-1]:%m/%d/%y %I:%M:%S %p},,,Logged")
    path = written(tmp_path / "hobo.csv", ['"Plot Title: garden"', header, *rows])
    code, task, summary, said = checked(path, "--missing", "mask")
    assert task == "forecast" and summary["from"].startswith("2023-06-01 00:00:00") and summary["step"] == "15min"
    assert "#" not in summary["names"].split(", ") or "#" in said
    assert code == 0 or "Host Connected" in said


def test_toa5(tmp_path):
    """Four lines of header: the station, names, units and how each value was made; NAN in quotes."""
    above = [
        quoted("TOA5", "Meadow", "CR1000", "12345", "CR1000.Std.32", "CPU:met.CR1", "4711", "Hourly"),
        quoted("TIMESTAMP", "RECORD", "BattV_Min", "AirTC_Avg"),
        quoted("TS", "RN", "Volts", "Deg C"),
        quoted("", "", "Min", "Avg"),
    ]
    degrees = [f"{value / 6:.2f}" for value in level(500, 24)]
    degrees[99] = '"NAN"'
    rows = [
        f'"{time:%Y-%m-%d %H:%M:%S}",{row},{12 + row % 24 / 50:.2f},{cell}'
        for row, (time, cell) in enumerate(zip(days(500, "h"), degrees, strict=True))
    ]
    code, task, summary, said = checked(written(tmp_path / "CR1000_Hourly.dat", [*above, *rows]), "--missing", "mask")
    if code == 0:
        assert (task, summary["rows"], summary["step"], summary["missing cells"]) == ("forecast", 500, "h", 1)
        assert summary["names"] == "BattV_Min, AirTC_Avg"
    else:
        assert "header" in said or "line" in said


def test_rigol(tmp_path):
    """Names, then a row of units with the start and the step, which no other row has."""
    rows = [
        f"{row},{a / 50:.4f},{b / 80:.4f},,"
        for row, (a, b) in enumerate(zip(level(900, 90), level(900, 45, 1), strict=True))
    ]
    above = ["X,CH1,CH2,Start,Increment", "Sequence,Volt,Volt,-1.200000e-03,2.000000e-06"]
    code, task, summary, said = checked(written(tmp_path / "NewFile1.csv", [*above, *rows]))
    if code == 0:
        assert (task, summary["rows"], summary["names"]) == ("forecast", 900, "CH1, CH2")
    else:
        assert "Sequence" in said or "Volt" in said


def test_ndbc(tmp_path):
    """A buoy: blanks between columns, two lines of header that begin with a hash, MM and nines where a value lacks."""
    above = [
        "#YY  MM DD hh mm WDIR WSPD GST  WVHT   DPD  ATMP",
        "#yr  mo dy hr mn degT m/s  m/s     m   sec  degC",
    ]
    rows = []
    for row, (time, a, b) in enumerate(
        zip(days(500, "h", "2023-05-01"), level(500, 24), level(500, 24, 1), strict=True)
    ):
        wave = "MM" if row % 7 == 3 else f"{b / 60:.2f}"
        cells = f"{200 + row % 50:3d} {a / 20:4.1f} {a / 15:4.1f} {wave:>5} 99.00 {b / 8:5.1f}"
        rows.append(f"{time:%Y %m %d %H %M} {cells}")
    code, task, summary, said = checked(written(tmp_path / "41001h2023.txt", [*above, *rows]), "--missing", "mask")
    if code == 0:
        assert (task, summary["rows"], summary["step"]) == ("forecast", 500, "h")
        assert summary["from"] == "2023-05-01 00:00:00"
    else:
        assert "separator" in said or "99" in said
