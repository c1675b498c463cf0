/** The form in which email addresses of staff are stored and compared. */
export const normalizeEmail = (text: string): string => text.trim().normalize('NFC').toLowerCase();
