"""One definition, many faces: an estimate is traced once and read as numbers, arrays,
JavaScript, formulas and units."""
