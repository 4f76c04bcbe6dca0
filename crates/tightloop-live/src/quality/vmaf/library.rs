//! libvmaf's own calls, each behind a safe one: the only place that makes them.
#![allow(unsafe_code)]

use std::ffi::{CString, c_int};
use std::num::NonZeroU32;
use std::ptr::{self, NonNull};
use std::sync::{Mutex, PoisonError};

use vmaf_head_sys as sys;

use super::{Error, Model};
use crate::picture::{Picture, Size};

/// Narrower pictures are scored by libvmaf's plain code, as slow as it is.
/// Ours, measured: its vector code spoils the last columns of small scales,
/// which the border it leaves out hides where pictures are wide. Between the
/// plain, the AVX2 and the AVX-512 code scores differed by up to .35 at 300 to
/// 400 pixels and .03 up to 532, for some widths and contents; never from 534 on.
const PLAIN_BELOW: usize = 640;

/// Held from the start of a context to the end of its first frame: which code a
/// context chooses is a setting of the whole process, and read with that frame.
static CHOICE: Mutex<()> = Mutex::new(());

/// A model and, from the first frame on, the context it is used in.
///
/// Both pointers are live until `drop`, are used by this value alone, and the
/// model outlives the context, which refers to it.
#[derive(Debug)]
pub(super) struct Library {
    context: Option<NonNull<sys::VmafContext>>,
    model: NonNull<sys::VmafModel>,
    every: NonZeroU32,
}

// SAFETY: with no threads of its own, a context is memory that knows nothing
// of the thread it was made on. What contexts share is set and read under
// CHOICE, but for the log level, which all set to the same value.
unsafe impl Send for Library {}

impl Library {
    /// Loads a model; what it is used in starts with the first frame.
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
        Ok(Self {
            context: None,
            model: present("load its model", loaded)?,
            every,
        })
    }

    /// Starts a context for pictures of a size. The caller holds CHOICE.
    fn start(&mut self, size: Size) -> Result<NonNull<sys::VmafContext>, Error> {
        let plain = size.width() < PLAIN_BELOW;
        let configuration = sys::VmafConfiguration {
            log_level: sys::VmafLogLevel_VMAF_LOG_LEVEL_NONE,
            n_threads: 0,
            n_subsample: self.every.get(),
            cpumask: if plain { u64::MAX } else { 0 },
            gpumask: 0,
        };
        let mut opened = ptr::null_mut();
        // SAFETY: `opened` is valid for the call; the configuration goes by value.
        let code = unsafe { sys::vmaf_init(&mut opened, configuration) };
        checked("start", code)?;
        let context = present("start", opened)?;
        self.context = Some(context);
        // SAFETY: both are live, and `self` keeps them so, in the right order.
        let code =
            unsafe { sys::vmaf_use_features_from_model(context.as_ptr(), self.model.as_ptr()) };
        checked("prepare its features", code)?;
        Ok(context)
    }

    /// Reads a pair; pictures are all of one size, indices 0, 1, 2 and so on.
    pub(super) fn read(
        &mut self,
        source: &Picture,
        shown: &Picture,
        index: u32,
    ) -> Result<(), Error> {
        // A panic elsewhere leaves nothing half done: each start sets the choice anew.
        let lock = || CHOICE.lock().unwrap_or_else(PoisonError::into_inner);
        let choice = self.context.is_none().then(lock);
        let context = match self.context {
            Some(context) => context,
            None => self.start(source.size())?,
        };
        let mut source = luma(source)?;
        let mut shown = luma(shown).inspect_err(|_| release(&mut source))?;
        // SAFETY: the context is live, and both pictures are allocated and ours to give.
        let code =
            unsafe { sys::vmaf_read_pictures(context.as_ptr(), &mut source, &mut shown, index) };
        drop(choice);
        // What was taken is zeroed; after an error, what was not is still ours.
        release(&mut source);
        release(&mut shown);
        checked("measure a frame", code)
    }

    /// Ends the reading, after at least one pair; scores are there from then on.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        let (context, none) = (self.started("finish")?, ptr::null_mut());
        // SAFETY: the context is live; no pictures means to flush.
        let code = unsafe { sys::vmaf_read_pictures(context.as_ptr(), none, none, 0) };
        checked("finish", code)
    }

    /// The score of a frame that has one.
    pub(super) fn score(&mut self, index: u32) -> Result<f64, Error> {
        let mut score = 0.0;
        let (context, model) = (self.started("score a frame")?, self.model);
        // SAFETY: context and model are live, and belong together.
        let code = unsafe {
            sys::vmaf_score_at_index(context.as_ptr(), model.as_ptr(), &mut score, index)
        };
        checked("score a frame", code)?;
        Ok(score)
    }

    fn started(&self, what: &'static str) -> Result<NonNull<sys::VmafContext>, Error> {
        self.context.ok_or(Error::Vmaf { what, code: 0 })
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: both are live and not used again; the context, which refers to
        // the model, goes first.
        unsafe {
            if let Some(context) = self.context {
                sys::vmaf_close(context.as_ptr());
            }
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
