//! Files that are there whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// The list of the files of a set of results, beside them.
const MANIFEST: &str = ".driftway";

/// A directory that results will go to. It is made, and tried, before the work begins, so that an
/// hour's work does not end at a directory that can't be written.
#[derive(Debug)]
pub struct OutputDir {
    dir: PathBuf,
    is_created: bool,
}

impl OutputDir {
    /// Makes `dir` if need be, and tries it.
    ///
    /// # Errors
    /// It can't be written.
    pub fn open(dir: &Path) -> Result<Self, Failure> {
        let made = !dir.exists();
        fs::create_dir_all(dir).map_err(|e| Failure::file("make the directory", dir, &e))?;
        tempfile::tempfile_in(dir).map_err(|e| Failure::file("write into", dir, &e))?;
        Ok(Self { dir: dir.to_owned(), is_created: made })
    }

    /// Nothing will come: takes the directory away again if it was made for nothing.
    pub fn remove_if_created(self) {
        if self.is_created {
            // Whatever stands in the way of that is no reason for another message.
            let _ = fs::remove_dir(&self.dir);
        }
    }

    /// Begins to write.
    ///
    /// # Errors
    /// The directory can't be written.
    pub fn stage(&self) -> Result<Staging, Failure> {
        let staged = tempfile::Builder::new()
            .prefix(".driftway-")
            .tempdir_in(&self.dir)
            .map_err(|e| Failure::file("write into", &self.dir, &e))?;
        Ok(Staging { dir: self.dir.clone(), staged, names: Vec::new() })
    }
}

/// Files under temporary names, in a directory beside their final place. Dropped, it leaves
/// nothing behind.
#[derive(Debug)]
pub struct Staging {
    dir: PathBuf,
    staged: tempfile::TempDir,
    names: Vec<String>,
}

impl Staging {
    /// Adds a file.
    ///
    /// # Errors
    /// It can't be written.
    pub fn write<E: std::fmt::Display>(
        &mut self,
        name: &str,
        fill: impl FnOnce(&mut (dyn Write + Send)) -> Result<(), E>,
    ) -> Result<(), Failure> {
        let path = self.staged.path().join(name);
        let failure = |e: &dyn std::fmt::Display| {
            Failure::Failed(format!("can't write {}: {e}", self.dir.join(name).display()))
        };
        let mut file = BufWriter::new(File::create(&path).map_err(|e| failure(&e))?);
        fill(&mut file).map_err(|e| failure(&e))?;
        let file = file.into_inner().map_err(|e| failure(&e))?;
        file.sync_all().map_err(|e| failure(&e))?;
        self.names.push(name.to_owned());
        Ok(())
    }

    /// Begins a file that is written while the work is done. It is added once it is told to be
    /// [`done`](Self::done).
    ///
    /// # Errors
    /// It can't be made.
    pub fn create(&self, name: &str) -> Result<BufWriter<File>, Failure> {
        let file = File::create(self.staged.path().join(name));
        file.map(BufWriter::new).map_err(|e| Failure::file("write", &self.dir.join(name), &e))
    }

    /// Adds a file that was begun, if nothing was refused on the way.
    ///
    /// # Errors
    /// What was refused.
    pub fn add_finished(&mut self, name: &str, written: io::Result<()>) -> Result<(), Failure> {
        let path = self.staged.path().join(name);
        written
            .and_then(|()| File::open(path)?.sync_all())
            .map_err(|e| Failure::file("write", &self.dir.join(name), &e))?;
        self.names.push(name.to_owned());
        Ok(())
    }

    /// Adds a text.
    ///
    /// # Errors
    /// It can't be written.
    pub fn write_text(&mut self, name: &str, text: &str) -> Result<(), Failure> {
        self.write(name, |out| -> io::Result<()> { out.write_all(text.as_bytes()) })
    }

    /// Puts all files into their place as one set of results: what an older set left there under other
    /// names goes, so that nothing of it stands beside files that it does not belong to. Files that were
    /// not written so stay.
    ///
    /// # Errors
    /// A file can't be renamed or removed.
    pub fn replace_previous(mut self) -> Result<(), Failure> {
        let Some(last) = self.names.pop() else { return Ok(()) };
        let list = self.dir.join(MANIFEST);
        let older = match fs::read_to_string(&list) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read.map_err(|error| Failure::file("read", &list, &error))?,
        };
        let mut names = self.names.join("\n");
        names += &format!("\n{last}\n");
        self.write_text(MANIFEST, &names)?;
        self.names.push(last);
        let is_plain = |name: &&str| Path::new(name).file_name() == Some(name.as_ref());
        // The one that speaks for all goes first.
        for name in older.lines().rev().filter(is_plain) {
            if !self.names.iter().any(|new| new == name) {
                remove(&self.dir.join(name))?;
            }
        }
        self.commit()
    }

    /// Renames every file to its place, in the order they were added. The last one speaks for all:
    /// an older one goes first, so that it never stands beside files that it does not speak of.
    ///
    /// # Errors
    /// A file can't be renamed.
    pub fn commit(self) -> Result<(), Failure> {
        if let [_, .., last] = self.names.as_slice() {
            remove(&self.dir.join(last))?;
        }
        for name in &self.names {
            let place = self.dir.join(name);
            fs::rename(self.staged.path().join(name), &place)
                .map_err(|e| Failure::file("write", &place, &e))?;
        }
        Ok(())
    }
}

/// Removes a file, if it is there.
fn remove(file: &Path) -> Result<(), Failure> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Failure::file("replace", file, &error))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod test {
    use super::*;

    fn file_names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn nothing_is_there_before_everything_is() {
        let top = tempfile::tempdir().unwrap();
        let dir = top.path().join("a/b");
        let mut staging = OutputDir::open(&dir).unwrap().stage().unwrap();
        staging.write_text("one", "1").unwrap();
        assert!(!dir.join("one").exists());
        let refused = staging.write("two", |_| Err(io::Error::other("no more")));
        assert!(refused.is_err());
        staging.commit().unwrap();
        assert_eq!(file_names(&dir), ["one"]);
    }

    #[test]
    fn what_is_not_committed_leaves_nothing() {
        let top = tempfile::tempdir().unwrap();
        let mut staging = OutputDir::open(top.path()).unwrap().stage().unwrap();
        staging.write_text("one", "1").unwrap();
        drop(staging);
        assert!(file_names(top.path()).is_empty());
        let dir = top.path().join("new");
        OutputDir::open(&dir).unwrap().remove_if_created();
        assert!(!dir.exists());
    }

    #[test]
    fn what_was_begun_is_there_when_it_is_done() {
        let top = tempfile::tempdir().unwrap();
        let mut staging = OutputDir::open(top.path()).unwrap().stage().unwrap();
        for name in ["good", "bad", "forgotten"] {
            staging.create(name).unwrap().write_all(b"half").unwrap();
        }
        staging.add_finished("good", Ok(())).unwrap();
        assert!(staging.add_finished("bad", Err(io::ErrorKind::StorageFull.into())).is_err());
        staging.commit().unwrap();
        assert_eq!(file_names(top.path()), ["good"]);
    }

    #[test]
    fn a_set_takes_the_place_of_an_older_one_as_a_whole() {
        let outer = tempfile::tempdir().unwrap();
        let top = tempfile::tempdir_in(outer.path()).unwrap();
        let set = |files: &[&str]| {
            let mut staging = OutputDir::open(top.path()).unwrap().stage().unwrap();
            files.iter().for_each(|name| staging.write_text(name, "").unwrap());
            staging.replace_previous().unwrap();
        };
        fs::write(top.path().join("mine.txt"), "").unwrap();
        set(&["trace-1", "trace-2", "results.json"]);
        set(&["trace-2", "results.json"]);
        assert_eq!(file_names(top.path()), [".driftway", "mine.txt", "results.json", "trace-2"]);
        // Nobody is led astray by a list.
        fs::write(top.path().join(MANIFEST), "../x\n/etc/passwd\n..\nmine.txt\n").unwrap();
        fs::write(top.path().parent().unwrap().join("x"), "").unwrap();
        set(&["results.json"]);
        assert_eq!(file_names(top.path()), [".driftway", "results.json", "trace-2"]);
        assert!(top.path().parent().unwrap().join("x").exists());
        fs::remove_file(top.path().parent().unwrap().join("x")).unwrap();
    }
}
