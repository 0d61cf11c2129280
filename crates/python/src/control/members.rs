//! Types whose first fields are Python objects that both Python and Rust read and write directly.
//!
//! Attributes of such a type are member descriptors, as `__slots__` makes them, so that the interpreter
//! reads them without a call; and their places are known here, so that Rust does too. All a hook is
//! told and all it decides passes through such fields, at every ACK.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::ffi::{CStr, c_int, c_uint, c_void};
use std::mem::{offset_of, size_of, transmute};
use std::ptr::null_mut;

/// An object of such a type, or of one derived from it. A field may be null: then it is not set.
#[repr(C)]
struct Object<const N: usize> {
    base: ffi::PyObject,
    fields: [*mut ffi::PyObject; N],
}

/// Makes a type with these fields; `name` has the module in front.
pub(super) fn new_type<'py, const N: usize>(
    py: Python<'py>,
    name: &'static CStr,
    fields: [&'static CStr; N],
) -> PyResult<Bound<'py, PyType>> {
    let offset = |nth: usize| offset_of!(Object<N>, fields) + nth * size_of::<*mut ffi::PyObject>();
    let member = |(nth, field): (usize, &'static CStr)| ffi::PyMemberDef {
        name: field.as_ptr(),
        type_code: ffi::Py_T_OBJECT_EX,
        offset: offset(nth) as ffi::Py_ssize_t,
        flags: 0,
        doc: null_mut(),
    };
    let mut members: Vec<ffi::PyMemberDef> = fields.into_iter().enumerate().map(member).collect();
    // SAFETY: all zeros end the list.
    members.push(unsafe { std::mem::zeroed() });
    let mut slots = [
        ffi::PyType_Slot { slot: ffi::Py_tp_members, pfunc: members.as_mut_ptr().cast() },
        ffi::PyType_Slot { slot: ffi::Py_tp_dealloc, pfunc: dealloc::<N> as *mut c_void },
        ffi::PyType_Slot { slot: 0, pfunc: null_mut() },
    ];
    let mut spec = ffi::PyType_Spec {
        name: name.as_ptr(),
        basicsize: size_of::<Object<N>>() as c_int,
        itemsize: 0,
        flags: (ffi::Py_TPFLAGS_DEFAULT | ffi::Py_TPFLAGS_BASETYPE) as c_uint,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: the type copies what the specification points to, but for the names, which are static.
    let made = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyType_FromSpec(&raw mut spec))? };
    Ok(made.cast_into::<PyType>()?)
}

/// Frees an object.
unsafe extern "C" fn dealloc<const N: usize>(object: *mut ffi::PyObject) {
    // SAFETY: the interpreter calls this for an object of such a type that nothing refers to.
    unsafe {
        for field in (*object.cast::<Object<N>>()).fields {
            ffi::Py_XDECREF(field);
        }
        let of = ffi::Py_TYPE(object);
        let free: ffi::freefunc = transmute(ffi::PyType_GetSlot(of, ffi::Py_tp_free));
        free(object.cast());
        ffi::Py_DECREF(of.cast());
    }
}

/// An object, known to be of a type with `N` such fields.
#[derive(Debug)]
pub(super) struct Members<const N: usize>(Py<PyAny>);

impl<const N: usize> Members<N> {
    /// Takes `object`, which has to be of the type `of` or of one derived from it.
    pub(super) fn new(object: Bound<'_, PyAny>, of: &Bound<'_, PyType>) -> PyResult<Members<N>> {
        let size: usize = of.getattr("__basicsize__")?.extract()?;
        assert_eq!(size, size_of::<Object<N>>(), "a type with these fields");
        match object.is_instance(of)? {
            true => Ok(Members(object.unbind())),
            false => Err(pyo3::exceptions::PyTypeError::new_err("an object of another type")),
        }
    }

    /// The object.
    #[inline]
    pub(super) fn object<'a, 'py>(&'a self, py: Python<'py>) -> &'a Bound<'py, PyAny> {
        self.0.bind(py)
    }

    /// Whether nothing but this refers to the object.
    #[inline]
    pub(super) fn is_alone(&self, _: Python<'_>) -> bool {
        // SAFETY: the object is alive, and the interpreter is held.
        unsafe { ffi::Py_REFCNT(self.0.as_ptr()) == 1 }
    }

    /// The field at `place`; none where it is not set.
    #[inline]
    pub(super) fn get<'py>(&self, py: Python<'py>, place: usize) -> Option<Bound<'py, PyAny>> {
        // SAFETY: the object has these fields, and each is null or an object that is alive.
        unsafe {
            let field = (*self.0.as_ptr().cast::<Object<N>>()).fields[place];
            Bound::from_borrowed_ptr_or_opt(py, field)
        }
    }

    /// Sets the field at `place`.
    #[inline]
    pub(super) fn set(&self, place: usize, value: Bound<'_, PyAny>) {
        // SAFETY: the object has these fields, and the interpreter is held, as there is a bound
        // reference. The old object is released when the field has the new one.
        unsafe {
            let field = &raw mut (*self.0.as_ptr().cast::<Object<N>>()).fields[place];
            let old = field.replace(value.into_ptr());
            ffi::Py_XDECREF(old);
        }
    }
}
