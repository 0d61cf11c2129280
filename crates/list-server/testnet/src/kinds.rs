//! Tables of kinds.

/// Declares the kinds of a part, each with its name and parameters, and the enum of them all.
macro_rules! kinds {
    (
        $(#[doc = $enum_doc:literal])+
        pub enum $enum:ident: $what:literal;
        $(
            $(#[doc = $doc:literal])+
            $kind:ident: $name:literal { $($fields:tt)* }
        )+
    ) => {
        $(
            ::sojourn_core::parameters! {
                $(#[doc = $doc])+
                pub struct $kind: $name { $($fields)* }
            }
            impl ::sojourn_core::parameters::Check for $kind {}
        )+

        ::sojourn_core::variants! {
            $(#[doc = $enum_doc])+
            pub enum $enum: $what { $($kind($kind),)+ }
        }
    };
}
pub(crate) use kinds;
