//! Fields of a header.

use sojourn_smtp::header::{all, fields, header};

#[test]
fn fields_are_found_in_the_header_only() {
    let text = b"List-Id: <a>\r\nX: list-id: 1\r\n list-id: 2\r\nlist-ID : x\r\n\r\nList-Id: b\r\n";
    assert_eq!(fields(text, "List-Id"), 2);
    assert_eq!(fields(text, "List"), 0);
    assert_eq!(fields(b"\r\nList-Id: b\r\n", "List-Id"), 0);
    assert_eq!(all(text, "x").collect::<Vec<_>>(), [b" list-id: 1\r\n list-id: 2\r\n"]);
    assert_eq!(all(text, "LIST-ID").next(), Some(&b" <a>\r\n"[..]));
    assert_eq!(all(text, "y").next(), None);
    assert_eq!(all(b"A:1\nno field\nB:2", "b").next(), Some(&b"2"[..]));
    assert_eq!(header(b"A: b\r\n"), b"A: b\r\n");
    assert_eq!(header(b"A: b\r\n\r\n\r\n\r\n"), b"A: b\r\n");
    assert_eq!(header(b""), b"");
}
