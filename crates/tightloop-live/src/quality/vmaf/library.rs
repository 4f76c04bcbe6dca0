//! libvmaf's own calls, each behind a safe one: the only place that makes them.
#![allow(unsafe_code)]

use std::ffi::{CString, c_int};
use std::num::NonZeroU32;
use std::ptr::{self, NonNull};

use vmaf_head_sys as sys;

use super::{Error, Model};
use crate::picture::Picture;

/// An open context and its model.
///
/// Both pointers are live until `drop`, are used by this value alone, and the
/// model outlives the context, which refers to it.
#[derive(Debug)]
pub(super) struct Library {
    context: NonNull<sys::VmafContext>,
    model: NonNull<sys::VmafModel>,
}

// SAFETY: with no threads of its own, a context is memory that knows nothing
// of the thread it was made on. What contexts share (the processor's abilities,
// the log level, a table of reciprocals) each sets to the same values.
unsafe impl Send for Library {}

impl Library {
    /// Loads a model and registers what it needs.
    pub(super) fn open(model: Model, every: NonZeroU32) -> Result<Self, Error> {
        let version = CString::new(model.name()).expect("names have no zeros");
        let mut configuration = sys::VmafModelConfig {
            name: ptr::null(),
            flags: sys::VmafModelFlags_VMAF_MODEL_FLAGS_DEFAULT.into(),
        };
        let mut loaded = ptr::null_mut();
        // SAFETY: all three pointers are valid for the call, which copies what it keeps.
        let code =
            unsafe { sys::vmaf_model_load(&mut loaded, &mut configuration, version.as_ptr()) };
        checked("load its model", code)?;
        let model = present("load its model", loaded)?;

        let configuration = sys::VmafConfiguration {
            log_level: sys::VmafLogLevel_VMAF_LOG_LEVEL_NONE,
            n_threads: 0,
            n_subsample: every.get(),
            cpumask: 0,
            gpumask: 0,
        };
        let mut opened = ptr::null_mut();
        // SAFETY: `opened` is valid for the call; the configuration goes by value.
        let code = unsafe { sys::vmaf_init(&mut opened, configuration) };
        let context = checked("start", code).and_then(|()| present("start", opened));
        let context = match context {
            Ok(context) => context,
            Err(error) => {
                // SAFETY: loaded above and used by nobody.
                unsafe { sys::vmaf_model_destroy(model.as_ptr()) };
                return Err(error);
            }
        };
        let library = Self { context, model };
        // SAFETY: both are live, and `library` keeps them so, in the right order.
        let code = unsafe {
            sys::vmaf_use_features_from_model(library.context.as_ptr(), library.model.as_ptr())
        };
        checked("prepare its features", code)?;
        Ok(library)
    }

    /// Reads a pair; pictures are all of one size, indices 0, 1, 2 and so on.
    pub(super) fn read(
        &mut self,
        source: &Picture,
        shown: &Picture,
        index: u32,
    ) -> Result<(), Error> {
        let mut source = luma(source)?;
        let mut shown = luma(shown).inspect_err(|_| release(&mut source))?;
        // SAFETY: the context is live, and both pictures are allocated and ours to give.
        let code = unsafe {
            sys::vmaf_read_pictures(self.context.as_ptr(), &mut source, &mut shown, index)
        };
        // What was taken is zeroed; after an error, what was not is still ours.
        release(&mut source);
        release(&mut shown);
        checked("measure a frame", code)
    }

    /// Ends the reading, after at least one pair; scores are there from then on.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        // SAFETY: the context is live; no pictures means to flush.
        let code = unsafe {
            let none = ptr::null_mut();
            sys::vmaf_read_pictures(self.context.as_ptr(), none, none, 0)
        };
        checked("finish", code)
    }

    /// The score of a frame that has one.
    pub(super) fn score(&mut self, index: u32) -> Result<f64, Error> {
        let mut score = 0.0;
        // SAFETY: context and model are live, and belong together.
        let code = unsafe {
            let (context, model) = (self.context.as_ptr(), self.model.as_ptr());
            sys::vmaf_score_at_index(context, model, &mut score, index)
        };
        checked("score a frame", code)?;
        Ok(score)
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: both are live and not used again; the context, which refers to
        // the model, goes first.
        unsafe {
            sys::vmaf_close(self.context.as_ptr());
            sys::vmaf_model_destroy(self.model.as_ptr());
        }
    }
}

/// A copy of the luma plane, all that the models look at, to be given or released.
fn luma(picture: &Picture) -> Result<sys::VmafPicture, Error> {
    let size = picture.size();
    let side = |pixels: usize| u32::try_from(pixels).expect("sizes are at most 16,384");
    let mut copy = sys::VmafPicture {
        pix_fmt: sys::VmafPixelFormat_VMAF_PIX_FMT_UNKNOWN,
        bpc: 0,
        w: [0; 3],
        h: [0; 3],
        stride: [0; 3],
        data: [ptr::null_mut(); 3],
        ref_: ptr::null_mut(),
        priv_: ptr::null_mut(),
    };
    // SAFETY: `copy` is valid for the call.
    let code = unsafe {
        let gray = sys::VmafPixelFormat_VMAF_PIX_FMT_YUV400P;
        sys::vmaf_picture_alloc(&mut copy, gray, 8, side(size.width()), side(size.height()))
    };
    checked("allocate a picture", code)?;
    let stride = usize::try_from(copy.stride[0]).expect("strides are positive");
    for (at, row) in picture.y().chunks_exact(size.width()).enumerate() {
        // SAFETY: the plane just allocated has `height` rows of `stride` bytes, of
        // which the first `width` are pixels, and nobody else knows of it.
        unsafe {
            let start = copy.data[0].cast::<u8>().add(at * stride);
            ptr::copy_nonoverlapping(row.as_ptr(), start, row.len());
        }
    }
    Ok(copy)
}

/// Gives back a picture that was not taken.
fn release(picture: &mut sys::VmafPicture) {
    if !picture.ref_.is_null() {
        // SAFETY: a picture with a reference is allocated, and this reference is ours.
        unsafe { sys::vmaf_picture_unref(picture) };
    }
}

/// What a call returned, as a result.
fn checked(what: &'static str, code: c_int) -> Result<(), Error> {
    if code == 0 {
        return Ok(());
    }
    Err(Error::Vmaf { what, code })
}

/// A pointer that success promised.
fn present<T>(what: &'static str, pointer: *mut T) -> Result<NonNull<T>, Error> {
    NonNull::new(pointer).ok_or(Error::Vmaf { what, code: 0 })
}
