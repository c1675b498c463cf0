/** Texts about the requests of clients and keys. */
export const requests = {
  nav: 'Requests',
  title: (name: string) => `Requests of ${name}`,
  intro: (days: number) =>
    days === 0
      ? 'This installation keeps no requests.'
      : `Requests of the last ${days === 1 ? 'day' : `${days} days`} that were refused or failed, and all writes. They appear within a second or two. Successful reads are only counted.`,
  toHours: 'Counts by hour',
  toList: 'Single requests',
  caption: 'Requests, newest first',
  at: 'Answered',
  operation: 'Operation',
  status: 'Status',
  code: 'Error code',
  duration: 'Duration',
  milliseconds: (ms: number) => `${ms.toLocaleString('en')} ms`,
  restaurant: 'Restaurant',
  id: 'Request id',
  key: 'Idempotency key',
  explain: 'Why?',
  since: 'From (UTC)',
  until: 'Before (UTC)',
  filter: 'Filter',
  showAll: 'Show all',
  anyStatus: 'Any status',
  statuses: {
    '2xx': '2xx: succeeded',
    '3xx': '3xx: redirected',
    '4xx': '4xx: refused',
    '5xx': '5xx: failed',
    none: 'No answer',
  },
  noAnswer: 'no answer',
  unknown: 'no such operation',
  empty: 'There is no request yet.',
  nothingFits: 'No request matches.',
  noneSoFar: 'No request matches so far. The next page looks further back.',
  hours: 'Counts by hour',
  hoursTitle: (name: string) => `Requests of ${name} by hour`,
  hoursIntro: (days: number) =>
    days === 0
      ? 'This installation keeps no requests.'
      : `Everything that was called in the last ${days === 1 ? 'day' : `${days} days`}, by hour (UTC) and operation.`,
  hoursCaption: 'Requests by hour, newest first',
  hour: 'Hour',
  reads: 'Reads',
  writes: 'Writes',
  refused: 'Refused',
  failed: 'Failed',
};
