//! Who may send by a password. Passwords are known by their Argon2 hashes only (RFC 9106).

use super::submitters::{Pattern, says_what};
use argon2::Argon2;
use argon2::password_hash::rand_core::OsRng;
use argon2::password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString};
use sojourn_core::parameters::{Check, Refusal, Value};
use sojourn_core::{nested, parameters};
use sojourn_smtp::server::Credentials;

parameters! {
    /// Somebody who may send by a password.
    pub struct User: "user" {
        /// The name.
        pub name: String,
        /// The hash of the password, as `sojourn mail password` prints it.
        pub password: String,
        /// The lists that the user may send to, by their return paths: `MAIL FROM` is such a path.
        pub lists: Vec<Pattern> = Vec::new(),
        /// The addresses that may stand in `MAIL FROM` of mail that is no list's. A list's return
        /// path is never meant by them.
        pub senders: Vec<Pattern> = Vec::new(),
        /// The addresses that may stand in the `From:` field, of all the user's mail; any without.
        pub from: Vec<Pattern> = Vec::new(),
    }
}

nested!(User);

impl Check for User {
    fn check(&self) -> Result<(), Refusal> {
        let is_hash = PasswordHash::new(&self.password)
            .is_ok_and(|hash| hash.algorithm.as_str().starts_with("argon2") && hash.hash.is_some());
        if is_hash {
            return says_what(&self.lists, &self.senders);
        }
        // What was given may be the password itself: it is not repeated.
        let given = Value::Text("...".into());
        let expected = "a hash that begins with $argon2id$ (sojourn mail password makes one)";
        Err(Refusal::value(&given, expected).under("password"))
    }
}

/// Whether the password is that of the user. It takes as long for a user whom nobody knows.
pub(super) fn is_right(users: &[User], given: &Credentials) -> bool {
    /// Of a password that nobody has.
    const NOBODY: &str = "$argon2id$v=19$m=19456,t=2,p=1$c29qb3Vybi1ub2JvZHk$\
        Zm9yIG5vYm9keSBhdCBhbGwsIDMyIG9jdGV0cyBsb25n";
    let user = users.iter().find(|user| user.name == given.user);
    let hash = PasswordHash::new(user.map_or(NOBODY, |user| &user.password));
    let right = hash.is_ok_and(|hash| {
        Argon2::default().verify_password(given.password.0.as_bytes(), &hash).is_ok()
    });
    right && user.is_some()
}

/// The hash of a password, as it stands in a configuration.
pub fn hash_password(password: &str) -> String {
    let salt = SaltString::generate(&mut OsRng);
    let hash = Argon2::default().hash_password(password.as_bytes(), &salt);
    hash.expect("the default parameters are sound").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_smtp::server::Password;

    #[test]
    fn passwords() {
        let ann = |password: String| User {
            name: "ann".into(),
            password,
            lists: Vec::new(),
            senders: vec![Pattern::Any],
            from: Vec::new(),
        };
        let user = ann(hash_password("right"));
        user.check().unwrap();
        let users = [user];
        let right = |user: &str, password: &str| {
            let password = Password(password.into());
            is_right(&users, &Credentials { user: user.into(), password })
        };
        assert!(right("ann", "right"));
        assert!(!right("ann", "wrong") && !right("bob", "right") && !right("ann", ""));
        let plain = ann("secret".into());
        assert!(!format!("{:?}", plain.check().unwrap_err()).contains("secret"));
    }
}
