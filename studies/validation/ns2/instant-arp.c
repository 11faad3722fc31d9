/* ns-2.35 without ARP: preloaded into `ns`, it resolves each address immediately, to the node's number.

   ns-2's ARP keeps one packet for each neighbour that has not answered, repeats a request only when
   another packet arrives, and does not report a neighbour that never answers; with DSR's routes over
   neighbours that are gone, packets are lost there for minutes. driftway is compared with ns-2 without it.

   Only for the `ns` of Debian's ns2 package on amd64, which exports its symbols but binds them itself,
   so that the function must be overwritten in place. Three offsets come from that binary.

   cc -O2 -shared -fPIC -o instant-arp.so instant-arp.c -ldl */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef __x86_64__
#error "the code that is written over ns-2's is for x86-64"
#endif

enum {
  PACKET_HEADERS = 0x28, /* Packet::bits_ */
  ARP_TABLE_MAC = 0xb8,  /* ARPTable::mac_ */
  MAC_HDR_DST = 0xa8,    /* Mac::hdr_dst in Mac's table of virtual functions */
};

typedef int (*set_destination)(void *mac, void *header, int address);

static const int *mac_header; /* hdr_mac::offset_ */

static void *pointer_at(const void *object, size_t offset) {
  void *found;
  memcpy(&found, (const char *)object + offset, sizeof found);
  return found;
}

/* Replaces int ARPTable::arpresolve(int, Packet *, LL *). 0: the packet can be sent. */
static int resolve(void *table, int destination, void *packet, void *link_layer) {
  void *mac = pointer_at(table, ARP_TABLE_MAC);
  char *headers = pointer_at(packet, PACKET_HEADERS);
  void *hdr_dst = pointer_at(pointer_at(mac, 0), MAC_HDR_DST);
  set_destination set;
  memcpy(&set, &hdr_dst, sizeof set);
  set(mac, headers + *mac_header, destination);
  (void)link_layer;
  return 0;
}

__attribute__((constructor)) static void replace(void) {
  unsigned char *old = dlsym(RTLD_DEFAULT, "_ZN8ARPTable10arpresolveEiP6PacketP2LL");
  mac_header = dlsym(RTLD_DEFAULT, "_ZN7hdr_mac7offset_E");
  if (old == NULL || mac_header == NULL) return; /* a child of ns, such as awk */
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)old & ~(page - 1);
  uint64_t target = (uint64_t)(uintptr_t)resolve;
  unsigned char jump[13] = {0x49, 0xbb}; /* mov r11, target; jmp r11 */
  memcpy(jump + 2, &target, sizeof target);
  memcpy(jump + 10, "\x41\xff\xe3", 3);
  if (mprotect((void *)start, 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) {
    perror("instant-arp: can't write over ARPTable::arpresolve");
    exit(1);
  }
  memcpy(old, jump, sizeof jump);
  mprotect((void *)start, 2 * page, PROT_READ | PROT_EXEC);
}
