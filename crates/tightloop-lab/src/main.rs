//! The command `tightloop`: it asks questions.

mod args;
mod bound;
#[cfg(target_os = "linux")]
mod call;
mod compare;
mod diagnostic;
mod digest;
#[cfg(target_os = "linux")]
mod emulate;
mod file;
mod follow;
mod list;
mod out;
mod papers;
#[cfg(target_os = "linux")]
mod proxy;
mod report;
mod run;
mod sensitivity;
mod store;
mod studio;
mod table;
mod trace;
#[cfg(target_os = "linux")]
mod validate;

use std::io::{IsTerminal, stderr};
use std::process::ExitCode;

use anyhow::Error;
use clap::{CommandFactory, Parser};

use args::{Cli, Command};
use diagnostic::Diagnostic;

/// A metric is outside the band that its scenario expects.
const CHECK_FAILED: u8 = 1;
/// Something could not be done.
const MISUSE: u8 = 2;

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Compare(args) => compare::main(&args).map(|()| true),
        Command::Run(args) => run::main(&args),
        Command::Report(args) => report::main(&args).map(|()| true),
        Command::Sensitivity(args) => sensitivity::main(&args).map(|()| true),
        Command::Follow(args) => follow::main(&args).map(|()| true),
        Command::Papers(args) => papers::main(&args),
        Command::List(args) => list::main(&args).map(|()| true),
        Command::Trace(args) => trace::main(&args).map(|()| true),
        #[cfg(target_os = "linux")]
        Command::Call(args) => call::pair::main(&args).map(|()| true),
        #[cfg(target_os = "linux")]
        Command::Send(args) => call::send::main(&args).map(|()| true),
        #[cfg(target_os = "linux")]
        Command::Receive(args) => call::receive::main(&args).map(|()| true),
        Command::Bound(args) => bound::main(&args).map(|()| true),
        Command::Emulate(args) => match emulated(&args) {
            Ok(status) => return status,
            Err(error) => Err(error),
        },
        #[cfg(target_os = "linux")]
        Command::Validate(args) => validate::main(&args),
        #[cfg(target_os = "linux")]
        Command::Proxy(args) => match proxy::main(&args) {
            Ok(status) => return ExitCode::from(status),
            Err(error) => Err(error),
        },
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "tightloop", &mut script);
            out::print(&String::from_utf8_lossy(&script)).map(|()| true)
        }
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(CHECK_FAILED),
        Err(error) if out::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error);
            ExitCode::from(MISUSE)
        }
    }
}

#[cfg(target_os = "linux")]
fn emulated(args: &args::EmulateArgs) -> Result<ExitCode, Error> {
    emulate::main(args).map(ExitCode::from)
}

#[cfg(not(target_os = "linux"))]
fn emulated(_args: &args::EmulateArgs) -> Result<ExitCode, Error> {
    anyhow::bail!("links are emulated on Linux alone: they need its TUN devices and namespaces")
}

fn complain(error: &Error) {
    if let Some(diagnostic) = error.downcast_ref::<Diagnostic>() {
        let colours = stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        eprintln!("{}", diagnostic.render(colours));
        return;
    }
    eprintln!("error: {error}");
    for cause in error.chain().skip(1) {
        eprintln!("  because {cause}");
    }
}
