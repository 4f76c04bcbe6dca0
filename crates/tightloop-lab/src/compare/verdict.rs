//! Which controller to choose, and why, in a sentence.

/// One-way delay from mouth to ear that most people do not mind, in ms.
/// [G114] §4.
pub(super) const IN_TIME: f64 = 150.0;

/// Where none is in time, those this much slower than the fastest still count.
/// Ours.
const NEARLY: f64 = 1.25;

/// What is compared of a contender. What is not known is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Record {
    pub(super) name: String,
    /// Frame latency that 95 % of its frames do not exceed, in ms.
    pub(super) p95: Option<f64>,
    /// VMAF, 0 to 100.
    pub(super) vmaf: Option<f64>,
    /// SSIM in dB.
    pub(super) ssim_db: Option<f64>,
    /// Rate of encoded video in Mbit/s.
    pub(super) bitrate: f64,
}

/// What a picture's worth is measured in.
#[derive(Clone, Copy, Debug)]
struct Measure {
    name: &'static str,
    unit: &'static str,
    decimals: usize,
    of: fn(&Record) -> Option<f64>,
    /// Differences below this are not seen. Ours, each.
    unseen: f64,
}

const MEASURES: [Measure; 3] = [
    Measure {
        name: "VMAF",
        unit: "",
        decimals: 1,
        of: |record| record.vmaf,
        unseen: 1.0,
    },
    Measure {
        name: "SSIM",
        unit: " dB",
        decimals: 2,
        of: |record| record.ssim_db,
        unseen: 0.1,
    },
    Measure {
        name: "bitrate",
        unit: " Mbit/s",
        decimals: 2,
        of: |record| Some(record.bitrate),
        unseen: 0.05,
    },
];

/// The choice.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Verdict {
    /// The place of the chosen one.
    pub(super) winner: usize,
    /// Why, in one sentence.
    pub(super) sentence: String,
    /// How the choice was made.
    pub(super) rule: String,
}

/// Chooses. Nothing where no contender showed a frame.
pub(super) fn choose(records: &[Record]) -> Option<Verdict> {
    let timed = || records.iter().filter(|record| record.p95.is_some());
    let p95 = |record: &Record| record.p95.unwrap_or(f64::INFINITY);
    let fastest = timed().map(p95).min_by(f64::total_cmp)?;
    let limit = if fastest <= IN_TIME {
        IN_TIME
    } else {
        fastest * NEARLY
    };
    let measure = MEASURES
        .iter()
        .find(|measure| timed().all(|record| (measure.of)(record).is_some()))?;
    let worth = |record: &Record| (measure.of)(record).unwrap_or(f64::NEG_INFINITY);
    let in_time: Vec<&Record> = timed().filter(|record| p95(record) <= limit).collect();
    let best = in_time.iter().map(|it| worth(it)).max_by(f64::total_cmp)?;
    let good = in_time
        .iter()
        .filter(|record| worth(record) >= best - measure.unseen);
    let winner = *good.min_by(|a, b| p95(a).total_cmp(&p95(b)))?;
    let value = |record: &Record| format!("{:.*}{}", measure.decimals, worth(record), measure.unit);
    let ms = |record: &Record| format!("{:.0} ms", p95(record));

    let others = || in_time.iter().filter(|it| it.name != winner.name);
    let next = others().max_by(|a, b| worth(a).total_cmp(&worth(b)));
    let why = match (fastest <= IN_TIME, next) {
        (true, None) => format!(
            "it alone has 95 % of its frames on screen within {IN_TIME:.0} ms ({}), at {} {}",
            ms(winner),
            measure.name,
            value(winner)
        ),
        (true, Some(next)) => {
            let among = format!(
                "of the {} that have 95 % of their frames on screen within {IN_TIME:.0} ms",
                number(in_time.len())
            );
            if worth(winner) >= best && worth(winner) > worth(next) {
                format!(
                    "{among}, it has the best picture ({} {}, then {} with {}), and takes {}",
                    measure.name,
                    value(winner),
                    next.name,
                    value(next),
                    ms(winner)
                )
            } else {
                format!(
                    "{among}, it is as good as the best to the eye ({} {}, {} has {}) and the \
                     fastest of those ({} against {})",
                    measure.name,
                    value(winner),
                    next.name,
                    value(next),
                    ms(winner),
                    ms(next)
                )
            }
        }
        (false, _) => format!(
            "no controller has 95 % of its frames on screen within {IN_TIME:.0} ms here; it comes \
             closest with a good picture ({}, {} {})",
            ms(winner),
            measure.name,
            value(winner)
        ),
    };
    // Of those too late, the first to be worth a thought.
    let more =
        |record: &&Record| p95(record) > limit && worth(record) > worth(winner) + measure.unseen;
    let late = timed()
        .filter(more)
        .min_by(|a, b| p95(a).total_cmp(&p95(b)));
    let late = late.map_or(String::new(), |late| {
        format!(
            "; {} has more picture ({}) and takes {}",
            late.name,
            value(late),
            ms(late)
        )
    });
    Some(Verdict {
        winner: records.iter().position(|it| it.name == winner.name)?,
        sentence: format!("Choose {}: {why}{late}.", winner.name),
        rule: format!(
            "The rule: of those that have 95 % of their frames on screen within {IN_TIME:.0} ms \
             (ITU-T G.114's limit for a conversation; if none has, within {NEARLY} times the \
             fastest), the one with the best picture by {}; of those whose pictures differ by less \
             than {}{}, the fastest.",
            measure.name, measure.unseen, measure.unit
        ),
    })
}

fn number(number: usize) -> String {
    const WORDS: [&str; 11] = [
        "none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    ];
    WORDS
        .get(number)
        .map_or_else(|| number.to_string(), |word| (*word).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &str, p95: f64, vmaf: f64) -> Record {
        Record {
            name: name.to_owned(),
            p95: Some(p95),
            vmaf: Some(vmaf),
            ssim_db: Some(vmaf / 5.0),
            bitrate: vmaf / 20.0,
        }
    }

    fn chosen(records: &[Record]) -> (String, String) {
        let verdict = choose(records).expect("a choice");
        (records[verdict.winner].name.clone(), verdict.sentence)
    }

    #[test]
    fn in_time_the_best_picture_wins_and_a_better_late_one_is_named() {
        let all = [
            record("sqp", 80.0, 70.0),
            record("gcc", 60.0, 50.0),
            record("cubic", 900.0, 90.0),
        ];
        let (winner, why) = chosen(&all);
        assert_eq!(winner, "sqp");
        assert!(why.contains("of the two that"), "{why}");
        assert!(why.contains("VMAF 70.0, then gcc with 50.0"), "{why}");
        assert!(
            why.contains("cubic has more picture (90.0) and takes 900 ms"),
            "{why}"
        );
    }

    #[test]
    fn pictures_that_look_alike_are_decided_by_time() {
        let (winner, why) = chosen(&[record("slow", 140.0, 70.5), record("quick", 60.0, 70.0)]);
        assert_eq!(winner, "quick");
        assert!(why.contains("60 ms against 140 ms"), "{why}");
    }

    #[test]
    fn where_none_is_in_time_the_choice_says_so() {
        let all = [
            record("a", 400.0, 60.0),
            record("b", 480.0, 75.0),
            record("c", 900.0, 90.0),
        ];
        let (winner, why) = chosen(&all);
        assert_eq!(winner, "b");
        assert!(why.starts_with("Choose b: no controller"), "{why}");
        assert!(why.contains("c has more picture"), "{why}");
    }

    #[test]
    fn without_vmaf_ssim_decides_and_without_pictures_the_bitrate() {
        let mut all = [record("a", 80.0, 60.0), record("b", 90.0, 75.0)];
        all[0].vmaf = None;
        assert!(
            choose(&all)
                .expect("a choice")
                .sentence
                .contains("SSIM 15.00 dB")
        );
        all[1].ssim_db = None;
        assert!(
            choose(&all)
                .expect("a choice")
                .sentence
                .contains("bitrate 3.75 Mbit/s")
        );
    }

    #[test]
    fn who_showed_nothing_is_not_chosen() {
        let dark = Record {
            name: "dark".into(),
            ..Record::default()
        };
        assert_eq!(choose(std::slice::from_ref(&dark)), None);
        let all = [dark, record("a", 80.0, 60.0)];
        assert_eq!(chosen(&all).0, "a");
        let (_, why) = chosen(&[record("lone", 70.0, 60.0)]);
        assert!(why.contains("it alone has"), "{why}");
    }
}
