//! Where a flow's λ-proxies stand.

use super::{FlowBuilder, ScenarioError};
use crate::event::PathId;
use crate::proxy::Proxy;
use crate::sim::proxied::Proxied;
use crate::sim::{HostId, World};
use crate::units::Span;

impl FlowBuilder<'_> {
    /// A proxy for each path, where there are any.
    pub(super) fn proxies(
        &self,
        links: &[String],
        sender: HostId,
        world: &mut World,
    ) -> Result<(), ScenarioError> {
        let Some(settings) = &self.flow.proxy else {
            return Ok(());
        };
        let proxy =
            Proxy::new(settings, self.flow.start).map_err(ScenarioError::at(self.key("proxy")))?;
        let mut taken = Vec::new();
        for (id, path) in (0..).zip(&self.flow.path) {
            let ids = self.link_ids(links, &path.back)?;
            let Some(&link) = ids.last() else {
                continue;
            };
            let name = path.back.last();
            let (shared, both) = (
                taken.contains(&link),
                name.is_some_and(|it| path.links.contains(it)),
            );
            if shared || both {
                let message = format!(
                    "acknowledgements come in by link `{}`, which carries other packets of this \
                     flow too; end `back` with a link of its own",
                    name.map_or("", String::as_str)
                );
                return self.fail("proxy", message);
            }
            taken.push(link);
            let of_link = name.and_then(|name| self.scenario.link.get(name));
            let mut of_link = of_link.into_iter().flat_map(|link| &link.flow_delays);
            let extra = match of_link.find(|(flow, _)| *flow == self.id.0) {
                Some((_, extra)) if path.back_delay == Span::ZERO => *extra,
                _ => path.back_delay,
            };
            world.add_proxy(Proxied {
                flow: self.id,
                sender,
                path: PathId(id),
                link,
                extra,
                proxy: proxy.clone(),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::proxy::{Rule, Settings};
    use crate::scenario::Scenario;
    use crate::units::Time;

    fn with(rule: Rule) -> Scenario {
        let mut scenario = Scenario::single("bbr");
        scenario.flow[0].proxy = Some(Settings {
            rule,
            ..Settings::default()
        });
        scenario
    }

    #[test]
    fn a_fork_goes_on_with_its_own_proxy() {
        let mut built = with(Rule::Patient).build(&|_| None).expect("a world");
        let mut log = crate::event::Log::off();
        built.world.run(Time::from_millis(1_500), &mut log);
        let mut fork = built.world.fork().expect("models fork");
        let (mut first, mut second) = (Vec::new(), Vec::new());
        let end = Time::from_secs(4);
        fork.run(end, &mut crate::event::Log::to(&mut second));
        built.world.run(end, &mut crate::event::Log::to(&mut first));
        assert!(first.len() > 100 && first == second);
    }

    #[test]
    fn acknowledgements_need_a_link_of_their_own() {
        let mut shared = with(Rule::Constant);
        let again = shared.flow[0].path[0].clone();
        shared.flow[0].path.push(again);
        let error = shared.build(&|_| None).expect_err("one link for two paths");
        assert_eq!(error.at, "flow.0.proxy");
        assert!(error.message.contains("a link of its own"), "{error}");
        let mut both = with(Rule::Constant);
        both.flow[0].path[0].back = vec!["bottleneck".to_owned()];
        assert!(both.build(&|_| None).is_err());
    }
}
