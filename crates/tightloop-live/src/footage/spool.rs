//! Raw pictures in a file without a name.

use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::picture::Size;

/// The file: pictures of one size, one after another.
#[derive(Debug)]
pub(super) struct Spool {
    file: File,
    folder: PathBuf,
    each: u64,
    count: u32,
}

impl Spool {
    /// An empty one in a folder, or in the system's for temporary files.
    pub(super) fn new(folder: Option<&Path>, size: Size) -> Result<Self, String> {
        let folder = folder.map_or_else(std::env::temp_dir, Path::to_owned);
        let file = tempfile::tempfile_in(&folder)
            .map_err(|error| format!("no temporary file in {}: {error}", folder.display()))?;
        Ok(Self {
            file,
            folder,
            each: size.bytes() as u64,
            count: 0,
        })
    }

    /// Adds a picture; its place.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<u32, String> {
        let place = self.count;
        let offset = u64::from(place) * self.each;
        self.file
            .write_all_at(bytes, offset)
            .map_err(|error| self.cannot_write(&error, offset))?;
        self.count += 1;
        Ok(place)
    }

    fn cannot_write(&self, error: &std::io::Error, so_far: u64) -> String {
        let folder = self.folder.display();
        let hint = if error.kind() == ErrorKind::StorageFull {
            ": use a folder with more room (TMPDIR), less of the source, or a smaller size"
        } else {
            ""
        };
        let megabytes = so_far / 1_000_000;
        format!("writing raw pictures to {folder} failed after {megabytes} MB: {error}{hint}")
    }

    /// Reads the picture at a place.
    pub(super) fn read(&self, place: u32, bytes: &mut [u8]) -> Result<(), String> {
        self.file
            .read_exact_at(bytes, u64::from(place) * self.each)
            .map_err(|error| format!("a raw picture cannot be read back: {error}"))
    }
}
