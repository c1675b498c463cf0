/** Opening hours of a location, in its own zone. Pure. */
import type { Location } from '../../restaurants/restaurant.ts';
import { legacyDate } from '../../values/venue-time.ts';

const minutesOf = (clock: string): number => {
  const [hours = 0, minutes = 0] = clock.split(':').map(Number);
  return hours * 60 + minutes;
};

const dayMinutes = 24 * 60;

/** True for a location without hours. An interval whose end is not after its start continues on the next day. */
export const isOpen = ({ hours, timeZone }: Pick<Location, 'hours' | 'timeZone'>, at: Date): boolean => {
  if (hours === null) return true;
  const [day = '', clock = ''] = (legacyDate(at, timeZone) ?? '').split(' ');
  const weekday = new Date(`${day}T00:00:00Z`).getUTCDay();
  const minute = minutesOf(clock);
  const within = (ofDay: number, minuteOfDay: number): boolean =>
    (hours[String(ofDay)] ?? []).some(([from, until]) => {
      const begin = minutesOf(from);
      const end = minutesOf(until) > begin ? minutesOf(until) : minutesOf(until) + dayMinutes;
      return minuteOfDay >= begin && minuteOfDay < end;
    });
  return within(weekday, minute) || within((weekday + 6) % 7, minute + dayMinutes);
};
