say("it's", 2);
say("it's", 3);
