/** Texts of the area "security". */
export const security = {};
