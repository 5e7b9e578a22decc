// Where the page begins.

import {startApp} from "./app.js";

startApp(window);
