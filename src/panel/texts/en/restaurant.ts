/** Texts of the area "restaurant". */
export const restaurant = {};
