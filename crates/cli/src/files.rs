//! Atomic replacement of a set of output files.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// File with the names of the files of a set of results, in the same directory.
const MANIFEST: &str = ".driftway";

/// The only folder that files of a set may be in.
const FIGURES: &str = "figures/";

/// Output directory for results. It is created, and tested for writing, before a command starts its
/// work, so that hours of work do not fail at the end.
#[derive(Debug)]
pub struct OutputDir {
    dir: PathBuf,
    is_created: bool,
}

impl OutputDir {
    /// Creates `dir` if needed, and tests that it can be written.
    ///
    /// # Errors
    /// A directory that cannot be created or written.
    pub fn open(dir: &Path) -> Result<Self, Failure> {
        let is_created = !dir.exists();
        fs::create_dir_all(dir).map_err(|e| Failure::file("make the directory", dir, &e))?;
        tempfile::tempfile_in(dir).map_err(|e| Failure::file("write into", dir, &e))?;
        Ok(Self { dir: dir.to_owned(), is_created })
    }

    /// Removes the directory again if it was created by [`OutputDir::open`].
    pub fn remove_if_created(self) {
        if self.is_created {
            // A failure is not worth another message.
            let _ = fs::remove_dir(&self.dir);
        }
    }

    /// Starts a set of files.
    ///
    /// # Errors
    /// A directory that cannot be written.
    pub fn stage(&self) -> Result<Staging, Failure> {
        let staged = tempfile::Builder::new()
            .prefix(".driftway-")
            .tempdir_in(&self.dir)
            .map_err(|e| Failure::file("write into", &self.dir, &e))?;
        Ok(Staging { dir: self.dir.clone(), staged, names: Vec::new() })
    }
}

/// Files in a temporary directory inside their final directory. Dropping it removes them.
#[derive(Debug)]
pub struct Staging {
    dir: PathBuf,
    staged: tempfile::TempDir,
    names: Vec<String>,
}

impl Staging {
    /// Adds a file that `fill` writes; its name may be `figures/` and that of a file.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write<E: std::fmt::Display>(
        &mut self,
        name: &str,
        fill: impl FnOnce(&mut (dyn Write + Send)) -> Result<(), E>,
    ) -> Result<(), Failure> {
        let path = self.staged.path().join(name);
        make_folder_of(&path)?;
        let failure = |e: &dyn std::fmt::Display| {
            Failure::Failed(format!("cannot write {}: {e}", self.dir.join(name).display()))
        };
        let mut file = BufWriter::new(File::create(&path).map_err(|e| failure(&e))?);
        fill(&mut file).map_err(|e| failure(&e))?;
        let file = file.into_inner().map_err(|e| failure(&e))?;
        file.sync_all().map_err(|e| failure(&e))?;
        self.names.push(name.to_owned());
        Ok(())
    }

    /// Creates a file that is written during the work, and added by
    /// [`add_finished`](Self::add_finished).
    ///
    /// # Errors
    /// A file that cannot be created.
    pub fn create(&self, name: &str) -> Result<BufWriter<File>, Failure> {
        self.create_file(name).map(BufWriter::new)
    }

    /// Creates a file without a buffer.
    ///
    /// # Errors
    /// A file that cannot be created.
    pub fn create_file(&self, name: &str) -> Result<File, Failure> {
        let file = File::create(self.staged.path().join(name));
        file.map_err(|e| Failure::file("write", &self.dir.join(name), &e))
    }

    /// Adds a file made by [`create`](Self::create), if it was `written` without an error.
    ///
    /// # Errors
    /// The error in `written`, or a failure to sync the file.
    pub fn add_finished(&mut self, name: &str, written: io::Result<()>) -> Result<(), Failure> {
        let path = self.staged.path().join(name);
        written
            .and_then(|()| File::open(path)?.sync_all())
            .map_err(|e| Failure::file("write", &self.dir.join(name), &e))?;
        self.names.push(name.to_owned());
        Ok(())
    }

    /// Adds a text file.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write_text(&mut self, name: &str, text: &str) -> Result<(), Failure> {
        self.write(name, |out| -> io::Result<()> { out.write_all(text.as_bytes()) })
    }

    /// Moves all files into place as one set of results, and removes the other files of a previous
    /// set, so that files of two sets never mix. Files that no set has written are kept.
    ///
    /// # Errors
    /// A file that cannot be renamed or removed.
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
        let is_plain = |name: &&str| {
            let name = name.strip_prefix(FIGURES).unwrap_or(name);
            Path::new(name).file_name() == Some(name.as_ref())
        };
        // The main document of the previous set is removed first.
        for name in older.lines().rev().filter(is_plain) {
            if !self.names.iter().any(|new| new == name) {
                remove(&self.dir.join(name))?;
                if name.starts_with(FIGURES) {
                    // Fails while other files are there, which stay.
                    let _ = fs::remove_dir(self.dir.join(FIGURES));
                }
            }
        }
        self.commit()
    }

    /// Renames every file into place, in the order of addition. The last file is the main document:
    /// an older one is removed first, so that it never describes files of another set.
    ///
    /// # Errors
    /// A file that cannot be renamed.
    pub fn commit(self) -> Result<(), Failure> {
        if let [_, .., last] = self.names.as_slice() {
            remove(&self.dir.join(last))?;
        }
        for name in &self.names {
            let place = self.dir.join(name);
            make_folder_of(&place)?;
            fs::rename(self.staged.path().join(name), &place)
                .map_err(|e| Failure::file("write", &place, &e))?;
        }
        Ok(())
    }
}

/// Creates the folder of a file.
fn make_folder_of(file: &Path) -> Result<(), Failure> {
    let Some(folder) = file.parent() else { return Ok(()) };
    fs::create_dir_all(folder).map_err(|e| Failure::file("make the directory", folder, &e))
}

/// Removes a file, if it exists.
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
    fn files_appear_only_on_commit() {
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
    fn without_commit_nothing_is_left() {
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
    fn only_finished_files_are_committed() {
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
    fn a_set_replaces_a_previous_set_completely() {
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
        // Paths in the manifest are not followed.
        let paths = "../x\n/etc/passwd\n..\nmine.txt\nfigures/../../x\nfigures/\n";
        fs::write(top.path().join(MANIFEST), paths).unwrap();
        fs::write(top.path().parent().unwrap().join("x"), "").unwrap();
        set(&["results.json"]);
        assert_eq!(file_names(top.path()), [".driftway", "results.json", "trace-2"]);
        assert!(top.path().parent().unwrap().join("x").exists());
        fs::remove_file(top.path().parent().unwrap().join("x")).unwrap();
        // The folder of figures goes with its last file.
        set(&["figures/8.svg", "figures/9.svg", "results.json"]);
        fs::write(top.path().join("figures/mine.svg"), "").unwrap();
        set(&["figures/9.svg", "results.json"]);
        assert_eq!(file_names(&top.path().join("figures")), ["9.svg", "mine.svg"]);
        fs::remove_file(top.path().join("figures/mine.svg")).unwrap();
        set(&["results.json"]);
        assert_eq!(file_names(top.path()), [".driftway", "results.json", "trace-2"]);
    }
}
