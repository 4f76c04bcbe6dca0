//! What stands for libvmaf in a build without it: a type without values.

use std::num::NonZeroU32;

use super::{Error, Model};
use crate::picture::Picture;

/// Nothing.
#[derive(Debug)]
pub(super) enum Library {}

impl Library {
    pub(super) fn open(_: Model, _: NonZeroU32) -> Result<Self, Error> {
        Err(Error::NoVmaf)
    }

    pub(super) fn read(&mut self, _: &Picture, _: &Picture, _: u32) -> Result<(), Error> {
        match *self {}
    }

    pub(super) fn flush(&mut self) -> Result<(), Error> {
        match *self {}
    }

    pub(super) fn score(&mut self, _: u32) -> Result<f64, Error> {
        match *self {}
    }
}
