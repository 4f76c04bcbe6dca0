//! The event log on its way to disk: parts of a fixed number of rows.
//!
//! The run hands over full batches; a thread of its own digests them and writes
//! them as Parquet files. A file is written under another name and renamed when
//! it is complete, so whoever looks sees whole parts only.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, anyhow};
use bytes::Bytes;
use parquet::basic::{
    Compression, ConvertedType, Encoding, Repetition, Type as Physical, ZstdLevel,
};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type, TypePtr};
use tightloop::event::{Event, Sink};
use tightloop::units::Time;

use super::cells::{self, Cell};
use super::columns::{COLUMNS, Column, Field, Kind};
use crate::digest::Digest;

/// Rows of a part. A run that is killed loses at most so many; a part is a few
/// megabytes.
pub(crate) const ROWS: usize = 1 << 18;

/// How many full batches may wait for the disk.
const WAITING: usize = 2;

type Batch = Vec<(Time, Event)>;

/// A sink that writes all events into a folder.
pub(crate) struct Parts {
    batch: Batch,
    full: SyncSender<Batch>,
    empty: Receiver<Batch>,
    writer: JoinHandle<Result<Written>>,
    failed: bool,
}

/// What was written.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    /// How many events.
    pub(crate) events: u64,
    /// The digest of them all.
    pub(crate) digest: String,
}

/// A part's file name.
pub(crate) fn name(part: usize) -> String {
    format!("events-{part:05}.parquet")
}

impl Parts {
    /// Begins to write into a folder, which must exist and hold no parts.
    pub(crate) fn begin(folder: &Path) -> Self {
        let (full, batches) = sync_channel::<Batch>(WAITING);
        let (back, empty) = sync_channel(WAITING + 1);
        let folder = folder.to_owned();
        let writer = thread::spawn(move || {
            let mut writer = Writer::new(folder)?;
            for mut batch in batches {
                writer.write(&batch)?;
                batch.clear();
                // The run may be over and not want it back.
                let _ = back.try_send(batch);
            }
            Ok(writer.finish())
        });
        Self {
            batch: Vec::with_capacity(ROWS),
            full,
            empty,
            writer,
            failed: false,
        }
    }

    /// True once nothing more can be written; [`Parts::finish`] says why.
    pub(crate) fn failed(&self) -> bool {
        self.failed
    }

    fn hand_over(&mut self) {
        let next = self.empty.try_recv();
        let next = next.unwrap_or_else(|_| Vec::with_capacity(ROWS));
        let batch = std::mem::replace(&mut self.batch, next);
        self.failed |= self.full.send(batch).is_err();
        if self.failed {
            self.batch.clear();
        }
    }

    /// Writes what is left and waits until all is on disk.
    pub(crate) fn finish(mut self) -> Result<Written> {
        if !self.batch.is_empty() {
            self.hand_over();
        }
        drop(self.full);
        self.writer
            .join()
            .map_err(|_| anyhow!("the thread that writes events broke down"))?
    }
}

impl Sink for Parts {
    #[inline]
    fn record(&mut self, at: Time, event: &Event) {
        self.batch.push((at, *event));
        if self.batch.len() == ROWS {
            self.hand_over();
        }
    }
}

struct Writer {
    folder: PathBuf,
    schema: TypePtr,
    properties: WriterPropertiesPtr,
    buffers: Vec<Buffer>,
    digest: Digest,
    events: u64,
    parts: usize,
}

impl Writer {
    fn new(folder: PathBuf) -> Result<Self> {
        Ok(Self {
            folder,
            schema: schema()?.into(),
            properties: properties().into(),
            buffers: COLUMNS.iter().map(Buffer::of).collect(),
            digest: Digest::default(),
            events: 0,
            parts: 0,
        })
    }

    fn write(&mut self, batch: &[(Time, Event)]) -> Result<()> {
        for (at, event) in batch {
            self.digest.record(*at, event);
        }
        let path = self.folder.join(name(self.parts));
        let unfinished = path.with_extension("parquet.unfinished");
        self.write_file(&unfinished, batch)
            .and_then(|()| Ok(fs::rename(&unfinished, &path)?))
            .with_context(|| format!("cannot write events to {}", path.display()))?;
        self.parts += 1;
        self.events += batch.len() as u64;
        Ok(())
    }

    fn write_file(&mut self, path: &Path, batch: &[(Time, Event)]) -> Result<()> {
        for buffer in &mut self.buffers {
            buffer.clear(batch.len());
        }
        for (place, (at, event)) in batch.iter().enumerate() {
            cells::tell(*at, event, &mut |field, cell| {
                self.buffers[field as usize].set(place, cell);
            });
        }
        let file = File::create(path)?;
        let mut file =
            SerializedFileWriter::new(file, self.schema.clone(), self.properties.clone())?;
        let mut group = file.next_row_group()?;
        for buffer in &self.buffers {
            let mut column = group
                .next_column()?
                .context("the schema has no such column")?;
            buffer.write(&mut column)?;
            column.close()?;
        }
        group.close()?;
        file.close()?;
        Ok(())
    }

    fn finish(mut self) -> Written {
        Written {
            events: self.events,
            digest: self.digest.hex(),
        }
    }
}

/// A column of a part in the making.
struct Buffer {
    /// The values of the rows that have one.
    values: Values,
    /// For each row 1 if it has a value, else 0: Parquet's definition levels.
    filled: Vec<i16>,
}

enum Values {
    Numbers(Vec<i64>),
    Texts(Vec<ByteArray>),
    Flags(Vec<bool>),
    Floats(Vec<f64>),
}

impl Buffer {
    fn of(column: &Column) -> Self {
        Self {
            values: match column.kind {
                Kind::Number => Values::Numbers(Vec::new()),
                Kind::Text => Values::Texts(Vec::new()),
                Kind::Flag => Values::Flags(Vec::new()),
                Kind::Float => Values::Floats(Vec::new()),
            },
            filled: Vec::new(),
        }
    }

    /// So many empty rows.
    fn clear(&mut self, rows: usize) {
        self.filled.clear();
        self.filled.resize(rows, 0);
        match &mut self.values {
            Values::Numbers(values) => values.clear(),
            Values::Texts(values) => values.clear(),
            Values::Flags(values) => values.clear(),
            Values::Floats(values) => values.clear(),
        }
    }

    #[inline]
    fn set(&mut self, row: usize, cell: Cell) {
        self.filled[row] = 1;
        match (&mut self.values, cell) {
            (Values::Numbers(values), Cell::Number(value)) => values.push(value),
            (Values::Texts(values), Cell::Text(value)) => {
                values.push(Bytes::from_static(value.as_bytes()).into());
            }
            (Values::Flags(values), Cell::Flag(value)) => values.push(value),
            (Values::Floats(values), Cell::Float(value)) => values.push(value),
            _ => unreachable!("a column has one type"),
        }
    }

    fn write(&self, column: &mut SerializedColumnWriter<'_>) -> Result<()> {
        let filled = Some(&*self.filled);
        match &self.values {
            Values::Numbers(values) => {
                column
                    .typed::<Int64Type>()
                    .write_batch(values, filled, None)?;
            }
            Values::Texts(values) => {
                column
                    .typed::<ByteArrayType>()
                    .write_batch(values, filled, None)?;
            }
            Values::Flags(values) => {
                column
                    .typed::<BoolType>()
                    .write_batch(values, filled, None)?;
            }
            Values::Floats(values) => {
                column
                    .typed::<DoubleType>()
                    .write_batch(values, filled, None)?;
            }
        }
        Ok(())
    }
}

fn schema() -> Result<Type> {
    let field = |column: &Column| {
        let (physical, converted) = match column.kind {
            Kind::Number => (Physical::INT64, ConvertedType::NONE),
            Kind::Flag => (Physical::BOOLEAN, ConvertedType::NONE),
            Kind::Float => (Physical::DOUBLE, ConvertedType::NONE),
            Kind::Text => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
        };
        Type::primitive_type_builder(column.name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_converted_type(converted)
            .build()
            .map(TypePtr::from)
    };
    let fields: Result<Vec<TypePtr>, _> = COLUMNS.iter().map(field).collect();
    Ok(Type::group_type_builder("event")
        .with_fields(fields?)
        .build()?)
}

fn properties() -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_created_by(format!("tightloop {}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_statistics_enabled(EnabledStatistics::None)
        .set_data_page_row_count_limit(ROWS);
    // The first and last time of each file: enough to skip files.
    let time = ColumnPath::from(COLUMNS[Field::Time as usize].name);
    properties = properties.set_column_statistics_enabled(time, EnabledStatistics::Chunk);
    // Most numbers differ little from row to row; words and sizes come again.
    let numbers = COLUMNS
        .iter()
        .filter(|it| it.kind == Kind::Number && it.field != Field::Size);
    for column in numbers {
        let path = ColumnPath::from(column.name);
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    properties.build()
}
