// Where the report begins: the page of `vitrail evaluate --page`.

import {startReport} from "./report.js";

startReport(window);
