//! What a browser shows.

/// A page with a heading and a paragraph, both plain text.
fn page(heading: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <meta name=\"robots\" content=\"noindex\">\n<title>{heading}</title>\n\
         <style>body {{ font: 1.1rem/1.5 system-ui, sans-serif; max-width: 34rem; \
         margin: 4rem auto; padding: 0 1rem; color: #1b1b1b; background: #fff }} \
         button {{ font: inherit; padding: .5rem 1.2rem; color: #fff; background: #0b5394; \
         border: 0; border-radius: .3rem }}</style>\n\
         <h1>{heading}</h1>\n{body}\n</html>\n"
    )
}

/// Asks for the click. What fetches links of a message, such as a scanner, does not click.
pub(super) fn question(list: &str, address: &str) -> String {
    let (list, address) = (escaped(list), escaped(address));
    page(
        &format!("Unsubscribe from {list}?"),
        &format!(
            "<p>Mail of this list to <strong>{address}</strong> will stop.</p>\n\
             <form method=\"post\">\
             <input type=\"hidden\" name=\"List-Unsubscribe\" value=\"One-Click\">\
             <button>Unsubscribe</button></form>"
        ),
    )
}

/// It is done.
pub(super) fn done(list: &str, address: &str) -> String {
    let (list, address) = (escaped(list), escaped(address));
    page(
        &format!("Unsubscribed from {list}"),
        &format!(
            "<p>No more mail of this list is sent to <strong>{address}</strong>. \
             A message that is already on its way may still arrive.</p>"
        ),
    )
}

/// The link leads to no subscriber.
pub(super) fn unknown() -> String {
    page(
        "This link is not valid",
        "<p>It may have been cut short, or be for a subscription that ended long ago. Links in the \
         list's newer messages work.</p>",
    )
}

/// It could not be done.
pub(super) fn later() -> String {
    page(
        "Please try again later",
        "<p>The server cannot save this now. You are still subscribed.</p>",
    )
}

/// Text of others in HTML.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_be_markup() {
        let page = question("<script>&\"", "a@x");
        assert!(page.contains("&lt;script&gt;&amp;&quot;") && !page.contains("<script"), "{page}");
    }
}
