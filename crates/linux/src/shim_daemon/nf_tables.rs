//! Messages of nf_tables, and the expressions of a rule (linux/netfilter/nf_tables.h).

use super::nfnetlink::Attributes;

/// Family of IPv4.
pub const IP: u8 = 2;
pub const SUBSYSTEM: u16 = 10;
pub const BATCH_BEGIN: u16 = 0x10;
pub const BATCH_END: u16 = 0x11;
pub const NEW_TABLE: u16 = SUBSYSTEM << 8;
pub const NEW_CHAIN: u16 = SUBSYSTEM << 8 | 3;
pub const NEW_RULE: u16 = SUBSYSTEM << 8 | 6;
/// The table is removed with the socket that created it (Linux 5.12).
pub const OWNED: u32 = 2;
const VERDICT_REGISTER: u32 = 0;
pub const DATA_REGISTER: u32 = 1;
pub const EQUAL: u32 = 0;
pub const META_OIFNAME: u32 = 7;
pub const NETWORK_HEADER: u32 = 1;
/// Offset of the source address in the header of IPv4.
pub const SOURCE_ADDRESS: u32 = 12;
/// Length of an interface name, zero-padded (bytes).
const INTERFACE_NAME_LEN: usize = 16;

/// Expressions of a rule: matches, and statements.
pub struct Rule<'a, 'b>(pub &'a mut Attributes<'b>);

impl Rule<'_, '_> {
    pub fn expression(&mut self, name: &str, write: impl FnOnce(&mut Attributes<'_>)) {
        self.0.nested(1, |element| {
            element.text(1, name);
            element.nested(2, write);
        });
    }
    /// Loads metadata of the packet.
    pub fn load_meta(&mut self, key: u32) {
        self.expression("meta", |says| {
            says.number(1, DATA_REGISTER);
            says.number(2, key);
        });
    }
    /// Matches metadata of the packet with `value`.
    pub fn match_meta(&mut self, key: u32, value: &[u8]) {
        self.load_meta(key);
        self.compare(value);
    }
    pub fn match_interface(&mut self, key: u32, name: Option<&str>) {
        let Some(name) = name else { return };
        let mut value = [0; INTERFACE_NAME_LEN];
        value.iter_mut().zip(name.bytes()).for_each(|(to, from)| *to = from);
        self.match_meta(key, &value);
    }
    /// Loads a field of a header into a register.
    pub fn load_field(&mut self, register: u32, header: u32, offset: u32, len: u32) {
        self.expression("payload", |says| {
            says.number(1, register);
            says.number(2, header);
            says.number(3, offset);
            says.number(4, len);
        });
    }
    pub fn compare(&mut self, value: &[u8]) {
        self.compare_by(EQUAL, value);
    }
    pub fn compare_by(&mut self, operator: u32, value: &[u8]) {
        self.expression("cmp", |says| {
            says.number(1, DATA_REGISTER);
            says.number(2, operator);
            says.nested(3, |data| data.bytes(1, value));
        });
    }
    /// Keeps the bits of `mask` of the loaded value.
    pub fn mask(&mut self, mask: &[u8]) {
        self.expression("bitwise", |says| {
            says.number(1, DATA_REGISTER);
            says.number(2, DATA_REGISTER);
            says.number(3, mask.len() as u32);
            says.nested(4, |data| data.bytes(1, mask));
            says.nested(5, |data| data.bytes(1, &vec![0; mask.len()]));
        });
    }
    pub fn count(&mut self) {
        self.expression("counter", |_| {});
    }
    pub fn verdict(&mut self, what: u32) {
        self.expression("immediate", |says| {
            says.number(1, VERDICT_REGISTER);
            says.nested(2, |data| data.nested(2, |verdict| verdict.number(1, what)));
        });
    }
}
