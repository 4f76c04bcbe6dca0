//! The event log on its way back from disk.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use tightloop::event::{Event, Sink};
use tightloop::units::Time;

use super::cells::Cell;
use super::columns::{COLUMNS, Field, Kind};
use super::row::{Row, Words};

/// The complete parts of a folder, in order.
pub(crate) fn parts(folder: &Path) -> Result<Vec<PathBuf>> {
    let place = || format!("cannot read the folder {}", folder.display());
    let mut parts = Vec::new();
    for entry in fs::read_dir(folder).with_context(place)? {
        let path = entry.with_context(place)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("events-") && name.ends_with(".parquet") {
            parts.push(path);
        }
    }
    parts.sort();
    Ok(parts)
}

/// Feeds all events of a folder to a sink; returns how many there were and the
/// time of the last.
pub(crate) fn replay(folder: &Path, sink: &mut dyn Sink) -> Result<(u64, Time)> {
    let mut words = Words::default();
    let (mut events, mut last) = (0, Time::ZERO);
    for path in parts(folder)? {
        let batch = read(&path, &mut words)
            .with_context(|| format!("cannot read events from {}", path.display()))?;
        for (at, event) in &batch {
            sink.record(*at, event);
        }
        events += batch.len() as u64;
        last = batch.last().map_or(last, |(at, _)| *at);
    }
    Ok((events, last))
}

fn read(path: &Path, words: &mut Words) -> Result<Vec<(Time, Event)>> {
    let file = SerializedFileReader::new(File::open(path)?)?;
    let mut events = Vec::new();
    for group in 0..file.num_row_groups() {
        let group = file.get_row_group(group)?;
        let rows = usize::try_from(group.metadata().num_rows())?;
        let mut columns = read_columns(&*group, rows, words)?;
        for place in 0..rows {
            let mut row = Row::default();
            for column in &mut columns {
                if let Some(cell) = column.next(place) {
                    row.set(column.field, cell);
                }
            }
            match row.event() {
                Some(event) => events.push(event),
                None => bail!("row {} is no event of this version", place + 1),
            }
        }
    }
    Ok(events)
}

/// A column on its way into rows.
struct Cells {
    field: Field,
    filled: Vec<i16>,
    values: Values,
    /// How many values have been used.
    used: usize,
}

enum Values {
    Numbers(Vec<i64>),
    Texts(Vec<&'static str>),
    Flags(Vec<bool>),
    Floats(Vec<f64>),
}

impl Cells {
    /// The cell of a row; rows are asked for in turn.
    fn next(&mut self, row: usize) -> Option<Cell> {
        if self.filled[row] == 0 {
            return None;
        }
        let place = self.used;
        self.used += 1;
        match &self.values {
            Values::Numbers(values) => values.get(place).copied().map(Cell::Number),
            Values::Texts(values) => values.get(place).copied().map(Cell::Text),
            Values::Flags(values) => values.get(place).copied().map(Cell::Flag),
            Values::Floats(values) => values.get(place).copied().map(Cell::Float),
        }
    }
}

fn read_columns(group: &dyn RowGroupReader, rows: usize, words: &mut Words) -> Result<Vec<Cells>> {
    let schema = group.metadata().schema_descr();
    let mut columns = Vec::new();
    for column in COLUMNS {
        let name = column.name;
        let found = schema.columns().iter().position(|it| it.name() == name);
        let Some(place) = found else {
            bail!("there is no column `{name}`");
        };
        let mut filled = Vec::new();
        let values = match (column.kind, group.get_column_reader(place)?) {
            (Kind::Number, ColumnReader::Int64ColumnReader(reader)) => {
                Values::Numbers(read_values(reader, rows, &mut filled)?)
            }
            (Kind::Flag, ColumnReader::BoolColumnReader(reader)) => {
                Values::Flags(read_values(reader, rows, &mut filled)?)
            }
            (Kind::Float, ColumnReader::DoubleColumnReader(reader)) => {
                Values::Floats(read_values(reader, rows, &mut filled)?)
            }
            (Kind::Text, ColumnReader::ByteArrayColumnReader(reader)) => {
                let texts: Vec<ByteArray> = read_values(reader, rows, &mut filled)?;
                let texts: Option<Vec<_>> = texts.iter().map(|it| words.word(it.data())).collect();
                Values::Texts(texts.with_context(|| format!("column `{name}` is no text"))?)
            }
            _ => bail!("column `{name}` is of another type"),
        };
        columns.push(Cells {
            field: column.field,
            filled,
            values,
            used: 0,
        });
    }
    Ok(columns)
}

fn read_values<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    rows: usize,
    filled: &mut Vec<i16>,
) -> Result<Vec<T::T>> {
    let mut values = Vec::new();
    reader.read_records(rows, Some(filled), None, &mut values)?;
    if filled.len() != rows {
        bail!("{} of {rows} rows are there", filled.len());
    }
    Ok(values)
}
