//! The extremes of a grid too large to be run whole: a coarse one first, then
//! finer and finer around each flow's highest and lowest rate.

use std::collections::BTreeMap;

use anyhow::Result;

use super::Rates;

/// A place in a grid: for each side, which of its values.
pub(crate) type Place = Vec<usize>;

/// What is known: each flow's rate, by place.
pub(crate) type Known = BTreeMap<Place, Rates>;

/// Runs a grid with sides of these lengths: all of it where that is no more than
/// `most` places, otherwise about so many. `run` is handed places that have not
/// been run, and gives each flow's rate at each.
pub(crate) fn search(
    sides: &[usize],
    most: usize,
    run: &mut dyn FnMut(&[Place]) -> Result<Vec<Rates>>,
) -> Result<Known> {
    let mut known = Known::new();
    let mut stride = stride(sides, most);
    let mut next = coarse(sides, stride);
    loop {
        next.retain(|place| !known.contains_key(place));
        let rates = run(&next)?;
        let found = !next.is_empty();
        known.extend(next.into_iter().zip(rates));
        let room = most.saturating_sub(known.len());
        // At the finest step it goes on until nothing new lies around an extreme.
        if room == 0 || (stride == 1 && !found) {
            return Ok(known);
        }
        stride = (stride / 2).max(1);
        next = around(sides, &known, stride);
        next.truncate(room);
    }
}

/// The step of the first, coarse grid: half of the places are left to look
/// closer with.
fn stride(sides: &[usize], most: usize) -> usize {
    let whole: usize = sides.iter().copied().fold(1, usize::saturating_mul);
    if whole <= most {
        return 1;
    }
    let mut stride = 1;
    let longest = sides.iter().copied().max().unwrap_or(1);
    let size = |stride| {
        sides
            .iter()
            .map(|side| steps(*side, stride).len())
            .fold(1, usize::saturating_mul)
    };
    while stride < longest && size(stride) > most / 2 {
        stride *= 2;
    }
    stride
}

/// Every so many of a side's values, its ends among them.
fn steps(side: usize, stride: usize) -> Vec<usize> {
    let last = side.saturating_sub(1);
    let mut steps: Vec<usize> = (0..last).step_by(stride).collect();
    steps.push(last);
    steps
}

fn coarse(sides: &[usize], stride: usize) -> Vec<Place> {
    let mut places = vec![Vec::new()];
    for side in sides {
        let steps = steps(*side, stride);
        let longer = places.iter().flat_map(|place| {
            steps.iter().map(move |step| {
                let mut place = place.clone();
                place.push(*step);
                place
            })
        });
        places = longer.collect();
    }
    places
}

/// One step along each side, both ways, from each flow's extremes.
fn around(sides: &[usize], known: &Known, stride: usize) -> Vec<Place> {
    let flows = known.values().next().map_or(0, Vec::len);
    let mut places = Vec::new();
    for flow in 0..flows {
        let lowest = known.iter().min_by_key(|(_, rates)| rates[flow]);
        let highest = known.iter().max_by_key(|(_, rates)| rates[flow]);
        for (place, _) in lowest.into_iter().chain(highest) {
            for side in 0..sides.len() {
                let at = place[side];
                for at in [
                    at.saturating_sub(stride),
                    (at + stride).min(sides[side] - 1),
                ] {
                    let mut neighbour = place.clone();
                    neighbour[side] = at;
                    if !places.contains(&neighbour) && !known.contains_key(&neighbour) {
                        places.push(neighbour);
                    }
                }
            }
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use tightloop::units::Rate;

    use super::*;

    /// Runs a grid over a made-up surface; returns how many places were run and
    /// the extremes found.
    fn extremes(sides: &[usize], most: usize, surface: fn(&[usize]) -> u64) -> (usize, u64, u64) {
        let known = search(sides, most, &mut |places| {
            let rates = places
                .iter()
                .map(|place| vec![Rate::from_bps(surface(place))]);
            Ok(rates.collect())
        });
        let known = known.expect("nothing fails here");
        let rates = || known.values().map(|rates| rates[0].as_bps());
        (
            known.len(),
            rates().min().expect("places"),
            rates().max().expect("places"),
        )
    }

    #[test]
    fn a_small_grid_is_run_whole() {
        let (places, least, most) = extremes(&[3, 3, 1], 400, |at| (at[0] * 10 + at[1]) as u64);
        assert_eq!((places, least, most), (9, 0, 22));
    }

    #[test]
    fn a_large_one_finds_the_extremes_of_a_smooth_surface_with_a_fraction() {
        // A hill at (17, 31), lowest in the far corner.
        let hill =
            |at: &[usize]| 10_000 - (at[0].abs_diff(17).pow(2) + at[1].abs_diff(31).pow(2)) as u64;
        let (places, least, most) = extremes(&[49, 49], 400, hill);
        assert!((100..=400).contains(&places), "{places}");
        assert_eq!((least, most), (hill(&[48, 0]), 10_000));
        let steep = |at: &[usize]| at.iter().map(|at| *at as u64).product();
        let (places, least, most) = extremes(&[9; 4], 500, steep);
        assert!((16..=500).contains(&places), "{places}");
        assert_eq!((least, most), (0, 8 * 8 * 8 * 8));
    }

    #[test]
    fn an_error_ends_the_search() {
        let failed = search(&[2, 2], 9, &mut |_| anyhow::bail!("no"));
        assert_eq!(failed.expect_err("no").to_string(), "no");
    }
}
