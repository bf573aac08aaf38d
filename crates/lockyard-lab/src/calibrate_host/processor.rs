//! Processor of this host, and its nearest relative among the shipped machines. Numbers that cannot
//! be measured come from that relative.

use lockyard_measure::detect;
use std::fs;

/// A processor as the system describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CalibratedProcessor {
    /// `GenuineIntel`, `AuthenticAMD`, ...; empty if the system does not report it.
    pub vendor: String,
    /// Family number, as in `/proc/cpuinfo`.
    pub family: Option<u32>,
    /// Model number.
    pub model: Option<u32>,
    /// Name that the processor reports.
    pub name: String,
    /// True if the host runs under a hypervisor.
    pub virtualised: bool,
    /// Size of a cache line in bytes, if the system reports it.
    pub line_bytes: Option<u32>,
}

/// A shipped machine, and the reason why it represents a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Relative {
    /// Name of the machine.
    pub machine: &'static str,
    /// Reason for the choice.
    pub why: &'static str,
    /// True if the family was fitted on processors of this generation.
    pub member: bool,
    /// True if the family was fitted on another vendor's processors, because this vendor has no
    /// family.
    pub foreign: bool,
}

/// Models of Intel's family 6, each with the nearest shipped machine.
const INTEL: &[(&[u32], Relative)] = &[
    (
        &[85],
        Relative {
            machine: "cascade-lake-2s24c2t",
            why: "a Skylake or Cascade Lake server: its family was fitted on these",
            member: true,
            foreign: false,
        },
    ),
    (
        // Ice Lake.
        &[106, 108],
        Relative {
            machine: "cascade-lake-2s24c2t",
            why: "a later server with a mesh, of which there is no training table",
            member: false,
            foreign: false,
        },
    ),
    (
        // Sapphire Rapids, Emerald Rapids, Granite Rapids.
        &[143, 207, 173, 174],
        Relative {
            machine: "sapphire-rapids",
            why: "of the same or a neighbouring generation; its family was fitted on earlier ones",
            member: false,
            foreign: false,
        },
    ),
    (
        // Nehalem, Westmere.
        &[26, 30, 31, 37, 44, 46, 47],
        Relative {
            machine: "westmere-ex-4s10c",
            why: "of the same or the preceding generation",
            member: false,
            foreign: false,
        },
    ),
    (
        &[79],
        Relative {
            machine: "broadwell-ep-2s22c2t",
            why: "a Broadwell server: its family was fitted on these",
            member: true,
            foreign: false,
        },
    ),
    (
        // Sandy Bridge to Broadwell, servers and clients.
        &[42, 45, 58, 62, 60, 63, 69, 70, 61, 71, 86],
        Relative {
            machine: "broadwell-ep-2s22c2t",
            why: "with a ring, as this one",
            member: false,
            foreign: false,
        },
    ),
];

impl CalibratedProcessor {
    /// Returns the processor of this host.
    pub fn of_host() -> CalibratedProcessor {
        let first = detect::here().caches.iter().find(|cache| cache.level == 1);
        CalibratedProcessor {
            line_bytes: first.and_then(|cache| cache.line_bytes),
            ..CalibratedProcessor::parse(&fs::read_to_string("/proc/cpuinfo").unwrap_or_default())
        }
    }

    /// Parses the text of `/proc/cpuinfo`.
    pub fn parse(cpuinfo: &str) -> CalibratedProcessor {
        let field = |name: &str| {
            cpuinfo.lines().find_map(|line| {
                let (key, value) = line.split_once(':')?;
                (key.trim() == name).then(|| value.trim().to_owned())
            })
        };
        let vendor = field("vendor_id").or_else(|| field("CPU implementer")).unwrap_or_default();
        let flags = field("flags").unwrap_or_default();
        CalibratedProcessor {
            name: field("model name").unwrap_or_else(|| match field("CPU part") {
                Some(part) => format!("processor of implementer {vendor}, part {part}"),
                None => "a processor without a name".to_owned(),
            }),
            family: field("cpu family").and_then(|text| text.parse().ok()),
            model: field("model").and_then(|text| text.parse().ok()),
            line_bytes: None,
            virtualised: flags.split(' ').any(|flag| flag == "hypervisor"),
            vendor,
        }
    }

    /// Describes the processor for the user.
    pub fn describe(&self) -> String {
        let number = |name: &str, value: Option<u32>| {
            value.map(|value| format!(" {name} {value}")).unwrap_or_default()
        };
        let numbers = format!("{}{}", number("family", self.family), number("model", self.model));
        let vendor = if self.vendor.is_empty() { "vendor not known" } else { &self.vendor };
        let through = if self.virtualised { ", a virtual machine" } else { "" };
        format!("{} ({vendor}{numbers}{through})", self.name)
    }

    /// Returns the vendor's name for the user.
    pub(super) fn maker(&self) -> &str {
        match self.vendor.as_str() {
            "AuthenticAMD" => "AMD",
            "HygonGenuine" => "Hygon",
            "GenuineIntel" => "Intel",
            "" => "an unknown maker",
            other => other,
        }
    }

    /// Returns the nearest relative among the shipped machines.
    pub(super) fn relative(&self) -> Relative {
        let client = Relative {
            machine: "skylake-client-4c",
            why: "for an Intel processor that is on no list here",
            member: false,
            foreign: false,
        };
        match (self.vendor.as_str(), self.family) {
            ("GenuineIntel", Some(6)) => {
                let model = self.model.unwrap_or(0);
                let known = INTEL.iter().find(|(models, _)| models.contains(&model));
                known.map_or(client, |(_, relative)| *relative)
            }
            ("AuthenticAMD" | "HygonGenuine", Some(0x17 | 0x18)) => Relative {
                machine: "zen1-8x4c2t",
                why: "for Zen and Zen 2",
                member: true,
                foreign: false,
            },
            ("AuthenticAMD" | "HygonGenuine", _) => Relative {
                machine: "zen4-7840u",
                why: "for an AMD processor; the protocol was fitted on a Zen",
                member: false,
                foreign: false,
            },
            ("GenuineIntel", _) => client,
            _ => Relative {
                machine: "cascade-lake-2s24c2t",
                why: "no processor of this maker is here: a server with a mesh stands for it",
                member: false,
                foreign: true,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockyard_sim::Machine;

    const EMERALD: &str = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 207\n\
                           model name\t: Intel(R) \
                           Xeon(R) Processor\nflags\t\t: fpu hypervisor sse\n";

    #[test]
    fn a_processor_is_read_and_has_a_relative_that_is_shipped() {
        let emerald = CalibratedProcessor::parse(EMERALD);
        assert_eq!(
            (emerald.family, emerald.model, emerald.virtualised),
            (Some(6), Some(207), true)
        );
        assert_eq!(
            emerald.describe(),
            "Intel(R) Xeon(R) Processor (GenuineIntel family 6 model 207, a virtual machine)"
        );
        assert_eq!(emerald.relative().machine, "sapphire-rapids");
        let of = |vendor: &str, family, model| {
            let vendor = vendor.to_owned();
            let all =
                CalibratedProcessor { vendor, family, model, ..CalibratedProcessor::default() };
            all.relative().machine
        };
        assert_eq!(of("GenuineIntel", Some(6), Some(106)), "cascade-lake-2s24c2t");
        assert_eq!(of("GenuineIntel", Some(6), Some(79)), "broadwell-ep-2s22c2t");
        assert_eq!(of("GenuineIntel", Some(6), Some(47)), "westmere-ex-4s10c");
        assert_eq!(of("GenuineIntel", Some(6), Some(158)), "skylake-client-4c");
        assert_eq!(of("GenuineIntel", Some(15), None), "skylake-client-4c");
        assert_eq!(of("AuthenticAMD", Some(25), Some(17)), "zen4-7840u");
        assert_eq!(of("", None, None), "cascade-lake-2s24c2t");
        for (_, relative) in INTEL {
            assert!(Machine::shipped(relative.machine).is_some(), "{}", relative.machine);
        }
    }

    #[test]
    fn no_text_is_no_panic() {
        for text in ["", ":::\n:", "model\t: x\n", "cpu family: 99999999999999999999"] {
            let processor = CalibratedProcessor::parse(text);
            assert_eq!((processor.family, processor.model), (None, None));
            assert!(processor.describe().contains("a processor without a name"));
        }
        let arm = CalibratedProcessor::parse("CPU implementer : 0x41\nCPU part : 0xd40\n");
        assert!(arm.describe().contains("implementer 0x41, part 0xd40"), "{}", arm.describe());
    }
}
