/** Statuses of logged requests by their first digit; `none` had no answer. */
export const statusClasses = ['2xx', '3xx', '4xx', '5xx', 'none'] as const;
