//! A calendar that is set.

use super::Driver;
use crate::event::ServerEvent;
use sojourn_mail_spool::Job;
use tokio::time::Duration;

/// How often the calendar is looked at.
pub(super) const LOOK: Duration = Duration::from_secs(10);

impl Driver {
    /// Follows the calendar where it was set. Waits are as long as they were: only what is written
    /// and said has other dates.
    pub(super) fn look_at_calendar(&mut self) {
        let stepped_ms = self.clock.stepped_ms(self.epoch);
        if stepped_ms == 0 {
            return;
        }
        self.epoch.unix_ms += stepped_ms;
        self.archive.order(Job::StepCalendar(stepped_ms));
        let (seconds, to) = (stepped_ms as f64 / 1e3, if stepped_ms > 0 { "on" } else { "back" });
        let what = format!("the calendar was set {to} by {:.0} s", seconds.abs());
        self.observe(&ServerEvent::Trouble(&what));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::dns::Names;
    use crate::delivery::event_loop::Submitter;
    use crate::delivery::event_loop::begin::Start;
    use crate::delivery::mail::Mail;
    use crate::delivery::smtp_out::tls::Security;
    use crate::event::Observer;
    use crate::event::unix_ms;
    use crate::settings::Settings;
    use sojourn_core::parameters::{Parameters, Table, Value};
    use sojourn_mail_spool::{Epoch, Spool};
    use std::sync::atomic::AtomicI64;
    use std::sync::atomic::Ordering::Relaxed;
    use std::sync::{Arc, Mutex};
    use tokio::sync::{mpsc, oneshot};

    /// How far the calendar is set.
    static SET: AtomicI64 = AtomicI64::new(0);

    fn settable() -> i64 {
        unix_ms() + SET.load(Relaxed)
    }

    struct Ear(Arc<Mutex<Vec<String>>>);

    impl Observer for Ear {
        fn notice(&mut self, _: i64, event: &ServerEvent<'_>) {
            if let ServerEvent::Trouble(what) = event {
                self.0.lock().unwrap().push((*what).to_owned());
            }
        }
    }

    fn settings() -> Settings {
        let table = |key: &str, value| {
            let mut table = Table::default();
            table.set(key, value);
            Value::Table(table)
        };
        let mut settings = Table::default();
        settings.set("mail", table("hello", Value::Text("lists.example".into())));
        let refused = Value::List(vec![Value::Text("127.0.0.1:9".into())]);
        settings.set("network", table("resolvers", refused));
        Settings::read_table(&settings).unwrap()
    }

    /// The calendar goes on by five hours and back by nine, and a day passes: a message that waits is
    /// as old as it was, for the engine, in the spool, and after the next start.
    #[test]
    fn the_calendar_is_set() {
        let folder = tempfile::tempdir().unwrap();
        let (path, heard) = (folder.path().join("spool"), Arc::new(Mutex::new(Vec::new())));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let open = || {
            let _inside = runtime.enter();
            let names = Names::new(&settings().network).unwrap();
            let security = Security::new(settings().mail.tls, None).unwrap();
            let ear = Box::new(Ear(Arc::clone(&heard)));
            Start::open(settings(), &path, names, security, ear, Arc::new(()), settable).unwrap()
        };
        let age = |driver: &Driver, id| {
            driver.clock.now().since(driver.engine.accepted(id).unwrap()).seconds()
        };
        let local = tokio::task::LocalSet::new();
        let id = local.block_on(&runtime, async {
            let (inputs, _inbox) = mpsc::channel(16);
            let (written, mut storage) = mpsc::channel(16);
            let mut driver = Driver::begin(open(), inputs, written);
            let (answer, answered) = oneshot::channel();
            let sender = Some("owner@lists.example".parse().unwrap());
            let mail = Mail::new(sender, vec!["a@x.example".parse().unwrap()], b"\r\nhello\r\n");
            driver.submit(mail, Submitter::Outside(answer));
            driver.go_on();
            let input = storage.recv().await.unwrap();
            driver.take(input);
            driver.go_on();
            let id = answered.await.unwrap().unwrap();
            for (hours, passed_s) in [(5, 0), (-4, 0), (-4, 90_000)] {
                SET.store(hours * 3_600_000 + passed_s * 1000, Relaxed);
                driver.clock.pretend(Duration::from_secs(passed_s as u64));
                driver.look_at_calendar();
                assert!((age(&driver, id) - passed_s as f64).abs() < 60.0, "{hours} h");
                let right = driver.epoch.unix_ms(driver.clock.now());
                assert!((right - settable()).abs() < 1000, "{hours} h");
            }
            drop(driver.archive.close());
            id
        });
        assert_eq!(
            *heard.lock().unwrap(),
            [
                "the calendar was set on by 18000 s".to_owned(),
                "the calendar was set back by 32400 s".to_owned()
            ]
        );
        let accepted = |spool: &Spool| spool.load().unwrap()[0].accepted;
        let epoch = Epoch { unix_ms: settable() - 1_000_000_000 };
        let spool = Spool::open(&path, epoch).unwrap();
        let stored = epoch.unix_ms(accepted(&spool));
        assert!((stored - (settable() - 90_000_000)).abs() < 60_000, "{stored}");
        drop(spool);
        let later = local.block_on(&runtime, async {
            let (inputs, _inbox) = mpsc::channel(16);
            let (written, _storage) = mpsc::channel(16);
            let driver = Driver::begin(open(), inputs, written);
            let later = age(&driver, id);
            drop(driver.archive.close());
            later
        });
        assert!((later - 90_000.0).abs() < 60.0, "{later}");
    }
}
