//! The header of a message.

use sojourn_mail::header::{field, fields, header};

#[test]
fn fields_are_found_in_the_header_only() {
    let text = b"List-Id: <a>\r\nX: list-id: 1\r\n list-id: 2\r\nlist-ID : x\r\n\r\nList-Id: b\r\n";
    assert_eq!(fields(text, "List-Id"), 2);
    assert_eq!(fields(text, "List"), 0);
    assert_eq!(fields(b"\r\nList-Id: b\r\n", "List-Id"), 0);
    assert_eq!(field(text, "x").as_deref(), Some("list-id: 1 list-id: 2"));
    assert_eq!(field(text, "LIST-ID").as_deref(), Some("<a>"));
    assert_eq!((field(text, "y"), field(b"Y: \xff\r\n", "Y")), (None, None));
    assert_eq!(header(b"A: b\r\n"), b"A: b\r\n");
    assert_eq!(header(b"A: b\r\n\r\n\r\n\r\n"), b"A: b\r\n");
    assert_eq!(header(b""), b"");
}
