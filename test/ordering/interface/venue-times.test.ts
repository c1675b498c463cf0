import { expect, test } from 'vitest';
import { endOfDay, isoDate, legacyDate, startOfDay } from '#src/ordering/index.ts';

/** What Intl says of one moment, asked for it alone. */
const clockIn = (date: Date, zone: string): string =>
  new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' }).format(date);

/** Milliseconds that the clock of a zone is ahead of UTC. */
const aheadMs = (date: Date, zone: string): number =>
  Date.parse(`${clockIn(date, zone).replace(' ', 'T')}Z`) - Math.floor(date.getTime() / 1000) * 1000;

const expectTrue = (date: Date, zone: string): void => {
  const minutes = aheadMs(date, zone) / 60_000;
  const size = Math.abs(minutes);
  const offset = `${minutes < 0 ? '-' : '+'}${[Math.floor(size / 60), size % 60].map((n) => String(n).padStart(2, '0')).join(':')}`;
  const shown = [zone, date.toISOString(), legacyDate(date, zone), isoDate(date, zone)];
  const clock = clockIn(date, zone);
  expect(shown).toEqual([zone, date.toISOString(), clock, `${clock.replace(' ', 'T')}${offset}`]);
};

/** Changes at midnight and a minute after it, by half an hour, by a whole day, forth and back within weeks. */
const changes: [string, string][] = [
  ['Europe/Rome', '2026-03-29T01:00:00Z'],
  ['Europe/Rome', '2026-10-25T01:00:00Z'],
  ['America/St_Johns', '1988-04-03T03:31:00Z'],
  ['America/St_Johns', '2006-10-29T02:31:00Z'],
  ['Australia/Lord_Howe', '2026-04-04T15:00:00Z'],
  ['Africa/Casablanca', '2026-02-15T02:00:00Z'],
  ['Africa/Casablanca', '2026-03-22T02:00:00Z'],
  ['Pacific/Apia', '2011-12-30T10:00:00Z'],
  ['Asia/Pyongyang', '2018-05-04T15:00:00Z'],
  ['America/Caracas', '2007-12-09T07:00:00Z'],
];

test('the wall clock and the offset of a zone are right to the second around every kind of change', () => {
  for (const [zone, at] of changes) {
    const change = Date.parse(at);
    expect([zone, at, aheadMs(new Date(change - 1000), zone) === aheadMs(new Date(change), zone)]).toEqual([
      zone,
      at,
      false,
    ]);
    for (const aside of [0, 1, 60, 1799, 1800, 3600, 43_200, 86_400, 172_800])
      for (const seconds of [-aside - 1, -aside, aside, aside + 1])
        expectTrue(new Date(change + seconds * 1000 + 250), zone);
  }
});

test('wall clock and offset are right in every zone, on any day', () => {
  const zones = Intl.supportedValuesOf('timeZone');
  expect(zones.length).toBeGreaterThan(400);
  for (const [index, zone] of zones.entries())
    for (const year of [1981, 1999, 2011, 2026, 2040])
      expectTrue(new Date(Date.UTC(year, index % 12, 1 + (index % 28), index % 24, index % 60, 59, 999)), zone);
});

test('moments without a whole offset, before 1980, keep the clock of their zone', () => {
  expect(legacyDate(new Date('1971-06-01T12:00:00Z'), 'Africa/Monrovia')).toBe('1971-06-01 11:15:30');
  expect([legacyDate(null, 'Europe/Rome'), isoDate(null, 'Europe/Rome')]).toEqual([null, null]);
});

test('days and moments of the first centuries have the local mean time of their zone', () => {
  const [rome, newYork] = ['Europe/Rome', 'America/New_York'];
  expect(startOfDay('0050-06-01', 'UTC').toISOString()).toBe('0050-06-01T00:00:00.000Z');
  expect(startOfDay('0050-06-01', rome).toISOString()).toBe('0050-05-31T23:10:00.000Z');
  expect(endOfDay('0099-12-31', newYork).toISOString()).toBe('0100-01-01T04:56:00.000Z');
  expect(endOfDay('0000-01-01', rome).toISOString()).toBe('0000-01-01T23:10:00.000Z');
  expect(isoDate(new Date('0099-06-01T12:00:00Z'), newYork)).toBe('0099-06-01T07:03:58-04:56');
});
